"""Features of a shard on disk: uids, half-precision arrays and nested lists in one Arrow file."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core.cached_files import ROOM
from benchmark.core.paths import atomic_write
from benchmark.core.uids import UID_COLUMNS, UidArray, UidIndex, read_uid_columns, uid_columns

_INFO = b"pairsift"


@dataclass(frozen=True)
class FeatureTable:
    """The features of one shard: n uids, columns of n rows, drop counts by reason, extraction seconds.

    `processor` are the processor seconds of the extraction, None where they were not recorded. A column is a float32
    array of shape (n, d), or an object array of n nested lists.
    """

    uids: UidArray
    columns: Mapping[str, npt.NDArray[Any]]
    drops: Counter[str]
    seconds: float
    processor: float | None = None

    @cached_property
    def index(self) -> UidIndex:
        """Finds the row of a uid; the last one of a uid that occurs twice."""
        return UidIndex(self.uids)


def save_features(
    path: Path,
    uids: UidArray,
    columns: Mapping[str, npt.NDArray[np.float32] | Sequence[Any]],
    drops: Mapping[str, int],
    seconds: float,
    processor: float | None = None,
) -> None:
    """Write arrays of shape (n, d) as float16: 8M pairs of two 512-wide embeddings take 16 GB, not 32."""
    arrays = uid_columns(uids) | {name: _to_arrow(values) for name, values in columns.items()}
    info = json.dumps({"drops": drops, "seconds": seconds, "processor": processor})
    table = pa.table(arrays).replace_schema_metadata({_INFO: info})
    with (
        atomic_write(path) as temporary,
        pa.ipc.new_file(str(temporary), table.schema, metadata=ROOM) as writer,
    ):
        writer.write_table(table)


def load_features(path: Path, uids: UidIndex | None = None) -> FeatureTable:
    """Read what `save_features` wrote, of those `uids` alone if they are given."""
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
        if uids is not None:
            table = table.filter(pa.array(uids.find(read_uid_columns(table)) >= 0))
    columns = {name: _to_numpy(table[name]) for name in table.column_names if name not in UID_COLUMNS}
    info = json.loads(table.schema.metadata[_INFO])
    drops, seconds = Counter[str](info["drops"]), info["seconds"]
    return FeatureTable(read_uid_columns(table), columns, drops, seconds, info.get("processor"))


@dataclass(frozen=True)
class MappedFeatures:
    """The features of one shard as they lie in the file, memory-mapped: n uids, float16 arrays (n, d), drop counts.

    Columns of nested lists are left out.
    """

    uids: UidArray
    columns: Mapping[str, npt.NDArray[np.float16]]
    drops: Counter[str]


def map_features(path: Path) -> MappedFeatures:
    """Map what `save_features` wrote: only the rows that are read take memory, and the system can drop them again."""
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
    columns = {
        field.name: _mapped(table[field.name])
        for field in table.schema
        if pa.types.is_fixed_size_list(field.type)
    }
    return MappedFeatures(
        read_uid_columns(table), columns, Counter(json.loads(table.schema.metadata[_INFO])["drops"])
    )


def _mapped(column: pa.ChunkedArray) -> npt.NDArray[np.float16]:
    shape = (len(column), column.type.list_size)
    if not len(column):
        return np.empty(shape, np.float16)
    (chunk,) = column.chunks  # `save_features` writes a single one
    return np.asarray(chunk.flatten().to_numpy(zero_copy_only=True)).reshape(shape)


def _to_arrow(values: npt.NDArray[np.float32] | Sequence[Any]) -> pa.Array:
    if not isinstance(values, np.ndarray):
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.astype(np.float16).ravel()), values.shape[1])


def _to_numpy(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    if pa.types.is_fixed_size_list(column.type):
        flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat, np.float32).reshape(len(column), column.type.list_size)
    lists = np.empty(len(column), object)
    for row, value in enumerate(column.to_pylist()):
        lists[row] = value
    return lists
