"""Values grouped, or put in order, in mapped files: for more of them than memory holds."""

import tempfile
from collections.abc import Iterable
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
        self._free = np.cumsum(sizes) - sizes

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


def put_in_order(
    parts: Iterable[tuple[npt.NDArray[np.int64], npt.NDArray[Any]]], array: npt.NDArray[Any], folder: Path
) -> None:
    """Put rows that come in another order into a mapped array, in two passes that both write from start to end.

    Writing each row at its position would read and write nearly the whole file once per part where it does not fit
    into memory.

    Args:
        parts: positions (m,) and rows (m, ...); in all, every position of the array once.
        array: gets the rows, shape (n, ...).
        folder: on its disk the rows are meanwhile. Raises `UserError` without room for them.
    """
    record = np.dtype([("position", np.int64), ("row", array.dtype, array.shape[1:])])
    needed, rows = len(array) * record.itemsize, max(1, BUCKET_BYTES // record.itemsize)
    if needed > free_bytes(folder):  # a write to a mapped page without room would end the process
        raise UserError(f"{folder} must have {needed / 1e9:.1f} GB free while pairs are put in order")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder) as file:
        # A file without bytes cannot be mapped.
        values = np.asarray(np.memmap(file, record, "w+", shape=max(len(array), 1)))[: len(array)]
    starts = np.arange(0, len(array), rows)
    stretches = Buckets(np.diff(starts, append=len(array)), values)
    for positions, part in parts:
        records = np.empty(len(positions), record)
        records["position"], records["row"] = positions, part
        stretches.add(positions // rows, records)
    for start in starts:
        records = values[start : start + rows]
        array[records["position"]] = records["row"]
