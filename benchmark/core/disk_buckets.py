"""Values in groups, in a mapped file without a name: for more of them than memory holds."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.disk import free_bytes
from benchmark.core.errors import UserError


class DiskBuckets:
    """Values grouped by bucket, each group in the order in which they were added.

    The file has no name: it ends with this object or its process, however that ends.

    Args:
        sizes: how many values each bucket gets, shape (b,).
        dtype: their type.
        folder: the folder on whose disk they are. Raises `UserError` where it has no room for them.
    """

    def __init__(self, sizes: npt.NDArray[np.int64], dtype: npt.DTypeLike, folder: Path) -> None:
        self._ends = np.cumsum(sizes)
        self._free = self._ends - sizes
        self._sizes = sizes
        count = int(sizes.sum())
        needed = count * np.dtype(dtype).itemsize
        if needed > free_bytes(folder):  # a write to a mapped page without room would end the process
            raise UserError(
                f"{folder} must have {needed / 1e9:.1f} GB free while pairs are ranked, joined or drawn"
            )
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            # A file without bytes cannot be mapped.
            self.values: npt.NDArray[Any] = np.asarray(np.memmap(file, dtype, "w+", shape=max(count, 1)))[
                :count
            ]

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
