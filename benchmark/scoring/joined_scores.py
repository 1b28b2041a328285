"""Scores of several filters for one pool, joined by uid in the memory of a quarter of a million samples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.disk_buckets import DiskBuckets
from benchmark.core.paths import cache_dir
from benchmark.core.ranks import Columns, Combine, PoolScores
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, find_uids, first_of_each, sort_uids, unite_uids
from benchmark.scoring.score_table import ScoreSource, hash_words
from filters.base import Scores

ROWS = 1 << 18  # of one filter in a bucket, about


@dataclass(frozen=True)
class JoinedBlock:
    """m samples: `uids` (m,), sorted, scores (m,) by each filter, NaN for none, and number of the first file (m,)."""

    uids: UidArray
    columns: Columns
    files: npt.NDArray[np.integer[Any]]

    def take(self, rows: npt.NDArray[np.int64]) -> "JoinedBlock":
        """Return some of the samples."""
        return JoinedBlock(self.uids[rows], [column[rows] for column in self.columns], self.files[rows])


class JoinedScores:
    """The samples of all sources, or those `among` given uids, each once, with the best of its scores in each.

    Filters may read differently divided files, as DataComp's metadata and tars are. So all scores are first grouped
    by a hash of the uid, in temporary files of the cache, and joined by group.
    """

    def __init__(self, sources: Sequence[ScoreSource], among: UidIndex | None = None) -> None:
        self.files = list(dict.fromkeys(file for source in sources for file in source.files))
        self._among = among
        self._dtypes = [source.dtype for source in sources]
        self._buckets = max(1, -(-max(map(len, sources)) // ROWS))
        numbers = {file: number for number, file in enumerate(self.files)}
        self._rows = [self._group(source, numbers) for source in sources]

    def blocks(self) -> Iterator[JoinedBlock]:
        """Yield the samples of each bucket."""
        for bucket in range(self._buckets):
            block = self._join([rows[bucket] for rows in self._rows])
            if self._among is not None:
                block = block.take(np.flatnonzero(self._among.find(block.uids) >= 0))
            yield block

    def scores(self) -> PoolScores:
        """Return the scores for a composite; its temporary files are in the cache."""
        return PoolScores(
            lambda: ((block.columns, block.uids) for block in self.blocks()), self._dtypes, cache_dir()
        )

    def by_file(self, combine: Combine) -> Iterator[tuple[str, UidArray, Scores]]:
        """Yield each file with the uids, sorted, of the samples that are in no earlier file, and their scores."""
        sizes = np.zeros(len(self.files), np.int64)
        for block in self.blocks():
            sizes += np.bincount(block.files, minlength=len(sizes))
        none = combine([np.empty(0, dtype) for dtype in self._dtypes], np.empty(0, UID_DTYPE))
        grouped = DiskBuckets(sizes, [("uid", UID_DTYPE), ("score", none.dtype)], cache_dir())
        for block in self.blocks():
            rows = np.empty(len(block.uids), grouped.values.dtype)
            rows["uid"], rows["score"] = block.uids, combine(block.columns, block.uids)
            grouped.add(block.files, rows)
        for number, file in enumerate(self.files):
            rows = grouped[number][sort_uids(grouped[number]["uid"])]
            yield file, rows["uid"], rows["score"]

    def _group(self, source: ScoreSource, numbers: Mapping[str, int]) -> DiskBuckets:
        """Return the rows of one filter by bucket, sorted by ``uid``, with their ``file`` and ``score``."""
        sizes = np.zeros(self._buckets, np.int64)
        for file in source.files:
            sizes += np.bincount(self._bucket_of(source.read(file)[0]), minlength=self._buckets)
        kind = np.dtype([("uid", UID_DTYPE), ("file", np.int32), ("score", source.dtype)])
        grouped = DiskBuckets(sizes, kind, cache_dir())
        for file in source.files:
            uids, scores = source.read(file)
            rows = np.empty(len(uids), kind)
            rows["uid"], rows["file"], rows["score"] = uids, numbers[file], scores
            grouped.add(self._bucket_of(uids), rows)
        for rows in grouped:
            rows[:] = rows[sort_uids(rows["uid"])]
        return grouped

    def _bucket_of(self, uids: UidArray) -> npt.NDArray[np.int64]:
        """Return the number of each uid's bucket, (m,): proportional to its hash."""
        half = np.uint64(32)
        scaled = (hash_words(uids["f0"], uids["f1"]) >> half) * np.uint64(self._buckets)
        return (scaled >> half).astype(np.int64)

    def _join(self, rows: Sequence[npt.NDArray[Any]]) -> JoinedBlock:
        """Return the samples of a bucket: the best score, and the first file, of each uid."""
        uids = rows[0]["uid"]
        if all(np.array_equal(of["uid"], uids) for of in rows) and first_of_each(uids).all():
            files = np.minimum.reduce([of["file"] for of in rows])
            return JoinedBlock(uids, [of["score"] for of in rows], files)
        uids = unite_uids([of["uid"] for of in rows])
        files, columns = np.full(len(uids), len(self.files)), []
        for of, dtype in zip(rows, self._dtypes, strict=True):
            column = np.full(len(uids), np.nan, dtype)
            if len(of):
                starts = np.flatnonzero(first_of_each(of["uid"]))
                found = find_uids(uids, of["uid"][starts])
                column[found] = np.fmax.reduceat(of["score"], starts)
                files[found] = np.minimum(files[found], np.minimum.reduceat(of["file"], starts))
            columns.append(column)
        return JoinedBlock(uids, columns, files)
