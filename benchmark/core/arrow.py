"""Arrow columns as numpy arrays."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return the n numbers of a column without missing values, shape (n,); of a single chunk without a copy.

    ``pyarrow.Array.to_numpy`` does the same, and imports pandas.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    arrays = [np.from_dlpack(chunk) for chunk in chunks]
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate([np.from_dlpack(pa.array([], column.type)), *arrays])
