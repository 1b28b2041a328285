"""The rows of a corpus: the embedding of each uid in the cached features, in the order of the uids."""

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.disk_buckets import DiskBuckets, put_in_order
from benchmark.core.mapped_files import LazyArray, MappedArray, MappedUids, save_array
from benchmark.core.paths import atomic_folder
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, first_of_each, sort_uids
from benchmark.scoring.feature_cache import load_features

# A row's uid, and the number of its file above the 32 bits of its row there.
RECORD = np.dtype([("high", "u8"), ("low", "u8"), ("location", "i8")])
COLUMNS = ("high", "low", "location")
BIN_BITS = 12  # uids are counted by their first bits
SORTED_AT_ONCE = 1 << 20  # rows, more only if one bin has more
BLOCK = 1 << 20  # locations that are read at a time
OF_FILE = np.dtype(
    [("row", "i8"), ("position", "i8")]
)  # of a file's row, its position in the order of the uids


class CorpusRows:
    """n rows sorted by uid, each uid once: if several files have a uid, the first file counts, and its last row.

    Args:
        paths: the features of each shard, in the order of the shards.
        folder: of the arrays that `write_rows` wrote.
    """

    def __init__(self, paths: Sequence[Path], folder: Path) -> None:
        self.paths = paths
        high, low, self.locations = (MappedArray(folder / f"{name}.npy") for name in COLUMNS)
        self.uids = MappedUids(high, low)

    @cached_property
    def widths(self) -> dict[str, int]:
        """The width of each output; empty without rows."""
        if not len(self.uids):
            return {}
        return load_features(self.paths[int(self.locations.values[0]) >> 32]).widths

    def embeddings(self, name: str, path: Path) -> LazyArray:
        """Return one output of all rows, (n, d) in half precision, in the order of the uids.

        It is copied to the file `path` when it is first read: if the features do not fit into memory, reading rows
        of many files in the order of the uids would read nearly all of them again for every few thousand rows.
        """
        shape = (len(self.uids), self.widths.get(name, 0))
        return LazyArray(path, shape, np.float16, partial(self._gather, name, path.parent))

    def _gather(self, name: str, folder: Path, array: npt.NDArray[np.float16]) -> None:
        put_in_order(self._positions_and_rows(name, folder), array, folder)

    def _positions_and_rows(
        self, name: str, folder: Path
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.float16]]]:
        """Yield what the array needs of each file: positions (m,), and rows (m, d)."""
        blocks = range(0, len(self.locations), BLOCK)
        sizes = np.zeros(len(self.paths), np.int64)
        for start in blocks:
            sizes += np.bincount(self.locations[start : start + BLOCK] >> 32, minlength=len(sizes))
        of_files = DiskBuckets(sizes, OF_FILE, folder)
        for start in blocks:
            locations = self.locations[start : start + BLOCK]
            records = np.empty(len(locations), OF_FILE)
            records["row"] = locations & 0xFFFFFFFF
            records["position"] = start + np.arange(len(locations))
            of_files.add(locations >> 32, records)
        for number, of_file in zip(np.flatnonzero(sizes).tolist(), of_files, strict=True):
            yield of_file["position"], load_features(self.paths[number]).half(name)[of_file["row"]]


def write_rows(paths: Sequence[Path], among: UidIndex | None, folder: Path) -> None:
    """Sort the uids of feature files on disk into the arrays of `CorpusRows`, whole or not at all.

    Uids that are not `among` others, if these are given, are left out. Holds the uids of one file and
    `SORTED_AT_ONCE` rows.
    """
    counts = np.zeros(1 << BIN_BITS, np.int64)
    for path in paths:
        counts += np.bincount(_bins(_distinct(path, among)[0]), minlength=len(counts))
    bucket_of_bin = np.cumsum(counts) // SORTED_AT_ONCE
    sizes = np.zeros(bucket_of_bin[-1] + 1, np.int64)
    np.add.at(sizes, bucket_of_bin, counts)
    buckets = DiskBuckets(sizes, RECORD, folder.parent)
    for number, path in enumerate(paths):
        uids, rows = _distinct(path, among)
        records = np.empty(len(uids), RECORD)
        records["high"], records["low"], records["location"] = uids["f0"], uids["f1"], (number << 32) | rows
        buckets.add(bucket_of_bin[_bins(uids)], records)
    distinct = 0
    for bucket in buckets:
        unique = _sorted(bucket)
        buckets.values[distinct : distinct + len(unique)] = unique  # never beyond the bucket
        distinct += len(unique)
    with atomic_folder(folder) as temporary:
        for name in COLUMNS:
            save_array(temporary / f"{name}.npy", buckets.values[name][:distinct])


def _distinct(path: Path, among: UidIndex | None) -> tuple[UidArray, npt.NDArray[np.int64]]:
    """Return the uids of one file in ascending order, each once, and their rows; of equal uids the last."""
    uids = load_features(path).uids
    order = sort_uids(uids)
    last = first_of_each(uids[order][::-1])[::-1]
    rows = order[last]
    if among is not None:
        rows = rows[among.find(uids[rows]) >= 0]
    return uids[rows], rows


def _bins(uids: UidArray) -> npt.NDArray[np.int64]:
    return (uids["f0"] >> np.uint64(64 - BIN_BITS)).astype(np.int64)


def _sorted(records: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return records sorted by uid, only the first of equal uids."""
    uids = np.empty(len(records), UID_DTYPE)
    uids["f0"], uids["f1"] = records["high"], records["low"]
    order = sort_uids(uids)
    return records[order[first_of_each(uids[order])]]
