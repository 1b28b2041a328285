"""Features of a shard on disk: uids, half-precision arrays and nested lists in one Arrow file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core.arrow import from_numpy, map_arrow, write_arrow
from benchmark.core.uids import UID_COLUMNS, UidArray, UidIndex, read_uid_columns, uid_columns
from benchmark.core.usage import Seconds

_INFO = "pairsift"


@dataclass(frozen=True)
class FeatureTable:
    """The features of n samples of one shard, mapped: only the rows that are read take memory."""

    uids: UidArray  # shape (n,)
    columns: pa.Table  # arrays in half precision, and nested lists, of n rows each
    drops: Counter[str]  # counts of the other samples by reason
    cost: Seconds  # of the extraction

    @cached_property
    def index(self) -> UidIndex:
        """Finds the row of a uid; the last row of a uid that occurs twice."""
        return UidIndex(self.uids)

    @property
    def widths(self) -> dict[str, int]:
        """The width of each array by its name."""
        return {
            field.name: field.type.list_size
            for field in self.columns.schema
            if pa.types.is_fixed_size_list(field.type)
        }

    def half(self, name: str) -> npt.NDArray[np.float16]:
        """Return an array in half precision, shape (n, d); not copied from the file."""
        shape = (len(self.uids), self.widths[name])
        if not len(self.uids):
            return np.empty(shape, np.float16)
        (chunk,) = self.columns[name].chunks  # `save_features` writes a single one
        return np.asarray(chunk.flatten().to_numpy(zero_copy_only=True)).reshape(shape)

    def take(self, rows: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """Return m rows of all columns: float32 arrays (m, d), and object arrays of m nested lists."""
        lists = self.columns.drop_columns(list(self.widths)).take(from_numpy(rows))
        return {
            **{name: self.half(name)[rows].astype(np.float32) for name in self.widths},
            **{name: np.fromiter(lists[name].to_pylist(), object) for name in lists.column_names},
        }


def save_features(
    path: Path,
    uids: UidArray,
    columns: Mapping[str, npt.NDArray[np.float32] | Sequence[Any]],
    drops: Mapping[str, int],
    cost: Seconds,
) -> None:
    """Write arrays of shape (n, d) as float16: 8M pairs of two 512-wide embeddings take 16 GB, not 32."""
    arrays = uid_columns(uids) | {name: _to_arrow(values) for name, values in columns.items()}
    write_arrow(path, arrays, {_INFO: {"drops": drops, "cost": asdict(cost)}})


def load_features(path: Path) -> FeatureTable:
    """Map what `save_features` wrote."""
    table, info = map_arrow(path)
    columns, about = table.drop_columns(list(UID_COLUMNS)), info[_INFO]
    return FeatureTable(read_uid_columns(table), columns, Counter(about["drops"]), Seconds(**about["cost"]))


def _to_arrow(values: npt.NDArray[np.float32] | Sequence[Any]) -> pa.Array:
    if not isinstance(values, np.ndarray):
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.astype(np.float16).ravel()), values.shape[1])
