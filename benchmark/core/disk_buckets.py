"""Values grouped, or put in order, in mapped files: for more of them than memory holds."""

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.disk import free_bytes
from benchmark.core.errors import UserError

BUCKET_BYTES = 1 << 26  # of a stretch that is put in order in memory


class Buckets:
    """The n `values`, shape (n,), grouped into buckets of the given `sizes` (b,), each in the order of adding."""

    def __init__(self, sizes: npt.NDArray[np.int64], values: npt.NDArray[Any]) -> None:
        self.values = values
        self._ends = np.cumsum(sizes)
        self._free = self._ends - sizes
        self._sizes = sizes

    def add(self, buckets: npt.NDArray[np.integer[Any]], values: npt.NDArray[Any]) -> None:
        """Add m values, shape (m,), to the buckets (m,)."""
        if not len(values):
            return
        order = np.argsort(buckets, kind="stable")
        ordered = buckets[order]
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        counts = np.diff(starts, append=len(ordered))
        present = ordered[starts].astype(np.int64)
        # A bucket's values go to its first free places.
        places = np.arange(len(ordered)) + np.repeat(self._free[present] - starts, counts)
        self.values[places] = values[order]
        self._free[present] += counts

    def __getitem__(self, bucket: int) -> npt.NDArray[Any]:
        """Return the values of a bucket, to be changed in place."""
        end = self._ends[bucket]
        return self.values[end - self._sizes[bucket] : end]

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """Yield the values of each bucket that has any, to be changed in place."""
        return map(self.__getitem__, np.flatnonzero(self._sizes).tolist())


class DiskBuckets(Buckets):
    """Buckets in a file without a name in `folder`, which ends with them. Raises `UserError` without room for it."""

    def __init__(self, sizes: npt.NDArray[np.int64], dtype: npt.DTypeLike, folder: Path) -> None:
        count = int(sizes.sum())
        needed = count * np.dtype(dtype).itemsize
        if needed > free_bytes(folder):  # a write to a mapped page without room would end the process
            raise UserError(f"{folder} must have {needed / 1e9:.1f} GB free while pairs are put in order")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            # A file without bytes cannot be mapped.
            values = np.asarray(np.memmap(file, dtype, "w+", shape=max(count, 1)))[:count]
        super().__init__(sizes, values)


def put_in_order(
    parts: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[Any]]], array: npt.NDArray[Any], folder: Path
) -> None:
    """Put rows that come in another order into a mapped array, in two passes that both write from start to end.

    Writing each row at its position would read and write nearly the whole file once per part where it does not fit
    into memory.

    Args:
        parts: positions (m,) and rows (m, ...); in all, every position of the array once.
        array: gets the rows, shape (n, ...).
        folder: on its disk the rows are meanwhile.
    """
    record = np.dtype([("position", np.int64), ("row", array.dtype, array.shape[1:])])
    rows = max(1, BUCKET_BYTES // record.itemsize)
    stretches = DiskBuckets(np.diff(np.append(np.arange(0, len(array), rows), len(array))), record, folder)
    for positions, values in parts:
        records = np.empty(len(positions), record)
        records["position"], records["row"] = positions, values
        stretches.add(positions // rows, records)
    for records in stretches:
        array[records["position"]] = records["row"]
