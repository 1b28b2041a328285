"""Arrays and sorted uids in files: memory-mapped where they are read, and sent to workers as paths."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.cached_files import intact
from benchmark.core.paths import atomic_write
from benchmark.core.uids import UID_DTYPE, UidArray, search_sorted

Indices = npt.NDArray[np.int64] | slice


class MappedArray:
    """An array in a ``.npy`` file; pickled as its path. Usable wherever numpy takes an array."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def __reduce__(self) -> tuple[type["MappedArray"], tuple[Path]]:
        return MappedArray, (self.path,)

    @property
    def values(self) -> npt.NDArray[Any]:
        """The array, of which only what is read takes memory; not writable.

        It is mapped anew each time: a statistic may have more pieces than a process can have open files.
        """
        return np.asarray(np.load(self.path, mmap_mode="r", allow_pickle=False))

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.values.shape

    def __getitem__(self, rows: Indices) -> npt.NDArray[Any]:
        """Return some rows; a slice is mapped and not writable."""
        return np.asarray(self.values[rows])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.values, dtype, copy=copy)

    def __len__(self) -> int:
        return self.shape[0]


def write_array(
    path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike, fill: Callable[[npt.NDArray[Any]], None]
) -> MappedArray:
    """Write the array that `fill` puts into a mapped one of that shape, unless the file is there; return it."""
    if not intact(path):
        with atomic_write(path) as temporary:
            fill(new_mapped(temporary, dtype, shape))
    return MappedArray(path)


class LazyArray(MappedArray):
    """A `MappedArray` that `write_array` writes when its rows are first read, or when it is sent to a worker."""

    def __init__(
        self,
        path: Path,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
        fill: Callable[[npt.NDArray[Any]], None],
    ) -> None:
        super().__init__(path)
        self._inputs = path, shape, dtype, fill

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self._inputs[1]

    @cached_property
    def path(self) -> Path:
        """The file, which is written first if it is missing."""
        return write_array(*self._inputs).path


def new_mapped(path: Path, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return a mapped array of zeros in a new ``.npy``, with room on the disk: without it a write ends the process.

    Raises `OSError` where the disk is full.
    """
    array = np.lib.format.open_memmap(path, "w+", dtype, shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    return array


def save_array(path: Path, array: npt.NDArray[Any]) -> MappedArray:
    """Write an array whole, unless the file is there; return it."""
    return write_array(path, array.shape, array.dtype, lambda mapped: np.copyto(mapped, array))


@dataclass(frozen=True)
class MappedUids:
    """n uids in ascending order, each once, as two ``.npy`` files of 64-bit words."""

    high: MappedArray
    low: MappedArray

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, rows: Indices) -> UidArray:
        """Return the uids of some rows."""
        high, low = self.high.values[rows], self.low.values[rows]
        uids = np.empty(len(high), UID_DTYPE)
        uids["f0"], uids["f1"] = high, low
        return uids

    def find(self, uids: UidArray) -> npt.NDArray[np.int64]:
        """Return the row of each of m uids, shape (m,), -1 for one that is not there."""
        return search_sorted(self.high.values, self.low.values, uids)
