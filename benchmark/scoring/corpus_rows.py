"""The rows of a corpus: where the embedding of each uid lies in the cached features, in the order of the uids."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.mapped_files import Indices, MappedArray, MappedUids, new_mapped, save_array
from benchmark.core.paths import atomic_folder
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, first_of_each, sort_uids
from benchmark.scoring.feature_cache import map_features

# A row's uid, and the number of its file above the 32 bits of its row there.
RECORD = np.dtype([("high", "u8"), ("low", "u8"), ("location", "i8")])
COLUMNS = ("high", "low", "location")
BIN_BITS = 12  # uids are counted by their first bits
SORTED_AT_ONCE = 1 << 20  # rows, more only where one bin has more
MAX_MAPPED_FILES = 16384  # per output; Linux maps 65,530 areas per process


class CorpusRows:
    """n rows sorted by uid, each uid once: of a uid in several files the first file's, of several there the last row.

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
        """The width of each output; none where there is no row."""
        if not len(self.uids):
            return {}
        columns = map_features(self.paths[int(self.locations.values[0]) >> 32]).columns
        return {name: values.shape[1] for name, values in columns.items()}

    def embeddings(self, name: str) -> "MappedEmbeddings":
        """Return one output of all rows."""
        return MappedEmbeddings(self.paths, self.locations, name, self.widths.get(name, 0))


class MappedEmbeddings:
    """The n embeddings of one name, (n, d) in half precision; rows that are indexed are copied out of their files."""

    def __init__(self, paths: Sequence[Path], locations: MappedArray, name: str, width: int) -> None:
        self._arguments = (paths, locations, name, width)
        self._paths = paths
        self._locations = locations
        self._name = name
        self.shape = (len(locations), width)
        self._mapped: dict[int, npt.NDArray[np.float16]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedEmbeddings, self._arguments

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Indices, /) -> npt.NDArray[np.float16]:
        """Return the embeddings of m rows, (m, d)."""
        locations = self._locations.values[rows]
        result = np.empty((len(locations), self.shape[1]), np.float16)
        order = np.argsort(locations, kind="stable")  # each file once, from its start to its end
        files = locations[order] >> 32
        starts = np.flatnonzero(np.diff(files, prepend=-1))
        for start, part in zip(starts, np.split(order, starts[1:]), strict=False):
            result[part] = self._file(int(files[start]))[locations[part] & 0xFFFFFFFF]
        return result

    def _file(self, number: int) -> npt.NDArray[np.float16]:
        if number not in self._mapped:
            if len(self._mapped) == MAX_MAPPED_FILES:
                self._mapped.clear()
            self._mapped[number] = map_features(self._paths[number]).columns[self._name]
        return self._mapped[number]


def write_rows(paths: Sequence[Path], among: UidIndex | None, folder: Path) -> None:
    """Sort the uids of feature files on disk into the arrays of `CorpusRows`, whole or not at all.

    Uids that are not `among` others, if these are given, are left out. Holds the uids of one file and
    `SORTED_AT_ONCE` rows.
    """
    counts = np.zeros(1 << BIN_BITS, np.int64)
    for path in paths:
        counts += np.bincount(_bins(_distinct(path, among)[0]), minlength=len(counts))
    with atomic_folder(folder) as temporary:
        shuffled = temporary / "shuffled.npy"
        records = new_mapped(shuffled, RECORD, (int(counts.sum()),))
        distinct = 0
        for bucket in _shuffle(paths, among, counts, records):
            unique = _sorted(records[bucket])
            records[distinct : distinct + len(unique)] = unique  # never beyond the bucket
            distinct += len(unique)
        for name in COLUMNS:
            save_array(temporary / f"{name}.npy", records[name][:distinct])
        shuffled.unlink()


def _shuffle(
    paths: Sequence[Path],
    among: UidIndex | None,
    counts: npt.NDArray[np.int64],
    records: npt.NDArray[np.void],
) -> Iterator[slice]:
    """Put the rows of all files into buckets of `records` by the first bits of the uid; yield each bucket's slice."""
    bucket_of_bin = np.cumsum(counts) // SORTED_AT_ONCE
    sizes = np.zeros(bucket_of_bin[-1] + 1, np.int64)
    np.add.at(sizes, bucket_of_bin, counts)
    ends = np.cumsum(sizes)
    free = ends - sizes
    for number, path in enumerate(paths):
        uids, rows = _distinct(path, among)
        buckets, starts = np.unique(bucket_of_bin[_bins(uids)], return_index=True)
        for bucket, part in zip(buckets, np.split(np.arange(len(uids)), starts[1:]), strict=False):
            place = records[free[bucket] : free[bucket] + len(part)]
            place["high"], place["low"] = uids["f0"][part], uids["f1"][part]
            place["location"] = (number << 32) | rows[part]
            free[bucket] += len(part)
    for start, end in zip(ends - sizes, ends, strict=True):
        yield slice(start, end)


def _distinct(path: Path, among: UidIndex | None) -> tuple[UidArray, npt.NDArray[np.int64]]:
    """Return the uids of one file in ascending order, each once, and their rows; of equal uids the last."""
    uids = map_features(path).uids
    order = sort_uids(uids)
    last = first_of_each(uids[order][::-1])[::-1]
    rows = order[last]
    if among is not None:
        rows = rows[among.find(uids[rows]) >= 0]
    return uids[rows], rows


def _bins(uids: UidArray) -> npt.NDArray[np.int64]:
    return (uids["f0"] >> np.uint64(64 - BIN_BITS)).astype(np.int64)


def _sorted(records: npt.NDArray[np.void]) -> npt.NDArray[np.void]:
    """Return records sorted by uid, of those with the same uid the first."""
    uids = np.empty(len(records), UID_DTYPE)
    uids["f0"], uids["f1"] = records["high"], records["low"]
    order = sort_uids(uids)
    return records[order[first_of_each(uids[order])]]
