"""Numbers from Arrow to numpy and back without a copy, and without pandas, which pyarrow's own ways import."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# What pyarrow raises for a damaged file; even the names of columns may not be text.
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return the n numbers of a column without missing values, shape (n,); several chunks are joined."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    arrays = [np.from_dlpack(chunk) for chunk in chunks]
    return (
        arrays[0] if len(arrays) == 1 else np.concatenate([*arrays, to_numpy(pa.nulls(0).cast(column.type))])
    )


def to_mask(column: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """Return n truth values without missing ones, shape (n,)."""
    return to_numpy(column.cast(pa.uint8())).view(bool)


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Return n integers or floats, shape (n,), as an Arrow array; strided ones are copied."""
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])
