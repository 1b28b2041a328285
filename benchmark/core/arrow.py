"""Columns from Arrow and to it without pandas, which pyarrow's own ways import; numbers without a copy."""

import json
from collections.abc import Mapping, Sequence, Sized
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core.paths import atomic_write

# What pyarrow raises for a damaged file; even the names of columns may not be text.
DAMAGE = (pa.ArrowException, OSError, UnicodeDecodeError)


def to_numpy(column: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Return the n numbers of a column without missing values, shape (n,); several chunks are joined."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    arrays = [np.from_dlpack(chunk) for chunk in chunks]
    return (
        arrays[0] if len(arrays) == 1 else np.concatenate([*arrays, to_numpy(pa.nulls(0).cast(column.type))])
    )


def to_mask(column: pa.BooleanArray | pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Return n truth values, none of them missing, shape (n,)."""
    return to_numpy(column.cast(pa.uint8())).view(bool)


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Return n integers or floats, shape (n,), as an Arrow array; strided arrays are copied."""
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def from_mask(values: npt.NDArray[np.bool_]) -> pa.BooleanArray:
    """Return n truth values, shape (n,), as an Arrow array."""
    return from_numpy(values.view(np.uint8)).cast(pa.bool_())


def from_strings(values: Sequence[bytes], kind: pa.DataType) -> pa.Array:
    """Return n strings, given as their bytes, as an Arrow array: `kind` is ``large_string`` or ``large_binary``."""
    buffers = [None, pa.py_buffer(_bounds(values)), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(kind, len(values), buffers)


def from_lists(values: Sequence[Sequence[int]]) -> pa.LargeListArray:
    """Return n lists of integers as an Arrow array."""
    joined = np.fromiter(chain.from_iterable(values), np.int64)
    return pa.LargeListArray.from_arrays(from_numpy(_bounds(values)), from_numpy(joined))


def write_arrow(path: Path, columns: Mapping[str, Any], info: Mapping[str, Any]) -> None:
    """Write a table to an Arrow file; each value of `info` is kept in it as JSON."""
    table = pa.table(columns).replace_schema_metadata({name: json.dumps(of) for name, of in info.items()})
    with atomic_write(path) as temporary, pa.ipc.new_file(str(temporary), table.schema) as writer:
        writer.write_table(table)


def map_arrow(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Return the table and the `info` that `write_arrow` wrote: only what is read comes into memory."""
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    return table, {name.decode(): json.loads(of) for name, of in table.schema.metadata.items()}


def _bounds(values: Sequence[Sized]) -> npt.NDArray[np.int64]:
    """Return the offset of each of n values in all of them joined, and the end of the last, shape (n + 1,)."""
    return np.cumsum([0, *map(len, values)], dtype=np.int64)
