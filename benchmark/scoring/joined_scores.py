"""Scores of several filters for one pool, joined by uid: a shard or bucket at a time, in the memory of one."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.disk_buckets import DiskBuckets
from benchmark.core.paths import cache_dir
from benchmark.core.pool_scores import Columns, Combine, PoolScores
from benchmark.core.uids import UID_DTYPE, UidArray, UidIndex, first_of_each, sort_uids
from benchmark.scoring.repeated_uids import Block, Repeated, Words, best_of_each, find_repeated, hash_words
from benchmark.scoring.score_folder import shard_name
from benchmark.scoring.score_table import ScoreSource
from filters.base import Scores

ROWS = 1 << 18  # of one filter in a bucket, about: the rows that are in memory at a time


@dataclass(frozen=True)
class JoinedBlock:
    """m samples with their scores by each filter.

    Args:
        uids: their uids, shape (m,).
        columns: each filter's scores, (m,); NaN where the filter has none.
        files: the number of the first file that has them, (m,).
    """

    uids: UidArray
    columns: Columns
    files: npt.NDArray[np.integer[Any]]

    def take(self, rows: npt.NDArray[np.int64]) -> "JoinedBlock":
        """Return some of the samples."""
        return JoinedBlock(self.uids[rows], [column[rows] for column in self.columns], self.files[rows])

    def matrix(self) -> npt.NDArray[np.float64]:
        """Return columns and minus `files`, (m, filters + 1): the highest of each are the best and the first."""
        return np.stack([*self.columns, -self.files], axis=1, dtype=np.float64)

    @classmethod
    def of_matrix(cls, uids: UidArray, matrix: Scores, dtypes: Sequence[np.dtype[Any]]) -> "JoinedBlock":
        """Return the block that has a matrix; see `matrix`."""
        *scores, minus_files = matrix.reshape(len(uids), len(dtypes) + 1).T
        columns = [column.astype(dtype) for column, dtype in zip(scores, dtypes, strict=True)]
        return cls(uids, columns, -minus_files.astype(np.int64))


class JoinedScores:
    """The samples of all sources, each once, with the best of its scores in each.

    Files of all sources that belong to one shard are joined at a time: tar and metadata of a shard have one name.
    Samples that are in several shards are held in memory. Where most names differ, all scores are first grouped by
    uid in temporary files of the cache, and joined by group.

    Args:
        sources: the scores by each filter.
        among: the samples that count, by default all.
    """

    def __init__(self, sources: Sequence[ScoreSource], among: UidIndex | None = None) -> None:
        self.files = list(dict.fromkeys(file for source in sources for file in source.files))
        self._number = {file: number for number, file in enumerate(self.files)}
        self._sources = sources
        self._among = among
        self._dtypes = [source.dtype for source in sources]
        shards = defaultdict[str, list[str]](list)
        for file in self.files:
            shards[shard_name(file)].append(file)
        self._shards = list(shards.values())
        self._shuffled = ShuffledScores(sources, self._number) if are_divided_differently(sources) else None
        self._repeated = (
            find_repeated(self._words, self._matrices, max(map(len, sources)))
            if self._shuffled is None
            else Repeated(np.empty(0, UID_DTYPE), np.empty(0, np.float32), {})
        )

    def blocks(self) -> Iterator[JoinedBlock]:
        """Yield the samples of each shard that are in no other, and at last those that are in several."""
        for number, block in enumerate(self._all_blocks()):
            yield self._counted(block, self._repeated.rows.get(number))
        yield self._in_several()

    def scores(self) -> PoolScores:
        """Return the scores for a composite; its temporary files lie in the cache."""
        return PoolScores(
            lambda: ((block.columns, block.uids) for block in self.blocks()), self._dtypes, cache_dir()
        )

    def by_file(self, combine: Combine) -> Iterator[tuple[str, UidArray, Scores]]:
        """Yield each file with the uids, sorted, of the samples that are in no earlier one, and their scores."""
        if self._shuffled is not None:
            yield from self._gathered(combine)
            return
        several = self._in_several()
        of_several = combine(several.columns, several.uids)
        order = np.argsort(several.files, kind="stable")
        ends = np.searchsorted(several.files[order], np.arange(len(self.files) + 1))
        for number, files in enumerate(self._shards):
            block = self._counted(self._shard(files), self._repeated.rows.get(number))
            scores = combine(block.columns, block.uids)
            for file in files:
                position = self._number[file]
                rows = np.flatnonzero(block.files == position)
                more = order[ends[position] : ends[position + 1]]
                uids = np.concatenate([block.uids[rows], several.uids[more]])
                by_uid = sort_uids(uids)
                yield file, uids[by_uid], np.concatenate([scores[rows], of_several[more]])[by_uid]

    def _gathered(self, combine: Combine) -> Iterator[tuple[str, UidArray, Scores]]:
        """Yield what `by_file` does; each bucket has samples of many files, so these are grouped on the disk, too."""
        sizes = np.zeros(len(self.files), np.int64)
        for block in self.blocks():
            sizes += np.bincount(block.files, minlength=len(sizes))
        none = combine([np.empty(0, dtype) for dtype in self._dtypes], np.empty(0, UID_DTYPE))
        gathered = DiskBuckets(sizes, [("uid", UID_DTYPE), ("score", none.dtype)], cache_dir())
        for block in self.blocks():
            rows = np.empty(len(block.uids), gathered.values.dtype)
            rows["uid"], rows["score"] = block.uids, combine(block.columns, block.uids)
            gathered.add(block.files, rows)
        for number, file in enumerate(self.files):
            rows = gathered[number][sort_uids(gathered[number]["uid"])]
            yield file, rows["uid"], rows["score"]

    def _counted(self, block: JoinedBlock, left_out: npt.NDArray[np.int64] | None) -> JoinedBlock:
        """Return the samples that count, without some rows."""
        if self._among is None and left_out is None:
            return block
        counted = np.ones(len(block.uids), bool) if self._among is None else self._among.find(block.uids) >= 0
        counted[[] if left_out is None else left_out] = False
        return block.take(np.flatnonzero(counted))

    def _in_several(self) -> JoinedBlock:
        repeated = JoinedBlock.of_matrix(self._repeated.uids, self._repeated.scores, self._dtypes)
        return self._counted(repeated, None)

    def _all_blocks(self) -> Iterator[JoinedBlock]:
        """Yield the samples of each shard, or bucket."""
        if self._shuffled is None:
            yield from map(self._shard, self._shards)
        else:
            yield from map(self._bucket, self._shuffled)

    def _shard(self, files: Sequence[str]) -> JoinedBlock:
        """Return the samples of a shard; one that is there several times may be so in the block."""
        parts = [
            (number, self._number[file], *source.read(file))
            for number, source in enumerate(self._sources)
            for file in files
            if file in source.files
        ]
        uids = parts[0][2]
        if len(parts) == len(self._sources) and all(np.array_equal(part[2], uids) for part in parts):
            first = min(part[1] for part in parts)
            return JoinedBlock(uids, [part[3] for part in parts], np.full(len(uids), first))
        return self._join([self._lonely(*part) for part in parts])

    def _bucket(self, rows: Sequence[npt.NDArray[Any]]) -> JoinedBlock:
        """Return the samples of a bucket, each once."""
        uids = rows[0]["uid"]
        if all(np.array_equal(of["uid"], uids) for of in rows) and first_of_each(uids).all():
            files = np.minimum.reduce([of["file"] for of in rows])
            return JoinedBlock(uids, [of["score"] for of in rows], files)
        parts = ((number, of["file"], of["uid"], of["score"]) for number, of in enumerate(rows))
        return self._join([self._lonely(*part) for part in parts])

    def _join(self, blocks: Sequence[JoinedBlock]) -> JoinedBlock:
        """Return the samples of several blocks, each once."""
        uids = np.concatenate([block.uids for block in blocks])
        matrix = np.concatenate([block.matrix() for block in blocks])
        return JoinedBlock.of_matrix(*best_of_each(uids, matrix), self._dtypes)

    def _lonely(
        self, number: int, files: int | npt.NDArray[np.int32], uids: UidArray, scores: Scores
    ) -> JoinedBlock:
        """Return samples with the scores of one filter, NaN by the others."""
        columns = [np.full(len(uids), np.nan, dtype) for dtype in self._dtypes]
        columns[number] = scores
        return JoinedBlock(uids, columns, np.full(len(uids), files))

    def _words(self) -> Iterator[Words]:
        for block in self._all_blocks():
            yield block.uids["f0"], block.uids["f1"]

    def _matrices(self) -> Iterator[Block]:
        for block in self._all_blocks():
            yield block.uids, block.matrix()


def are_divided_differently(sources: Sequence[ScoreSource]) -> bool:
    """Tell whether most shards of the sources are of one of them alone, by their names."""
    names = [set(map(shard_name, source.files)) for source in sources]
    return 2 * len(set.intersection(*names)) < len(set.union(*names))


class ShuffledScores:
    """The scores of several sources in buckets by a hash of the uid: all scores of a uid are in one bucket.

    Args:
        sources: the scores by each filter.
        numbers: the number of each of their files.
    """

    def __init__(self, sources: Sequence[ScoreSource], numbers: Mapping[str, int]) -> None:
        self._count = max(1, -(-max(map(len, sources)) // ROWS))
        self._rows = [self._shuffle(source, numbers) for source in sources]

    def __iter__(self) -> Iterator[list[npt.NDArray[np.void]]]:
        """Yield the rows of each bucket, by each filter, sorted by ``uid``, with their ``file`` and ``score``."""
        for bucket in range(self._count):
            yield [rows[bucket] for rows in self._rows]

    def _shuffle(self, source: ScoreSource, numbers: Mapping[str, int]) -> DiskBuckets:
        sizes = np.zeros(self._count, np.int64)
        for file in source.files:
            sizes += np.bincount(self._bucket_of(source.read(file)[0]), minlength=self._count)
        kind = np.dtype([("uid", UID_DTYPE), ("file", np.int32), ("score", source.dtype)])
        shuffled = DiskBuckets(sizes, kind, cache_dir())
        for file in source.files:
            uids, scores = source.read(file)
            rows = np.empty(len(uids), kind)
            rows["uid"], rows["file"], rows["score"] = uids, numbers[file], scores
            shuffled.add(self._bucket_of(uids), rows)
        for rows in shuffled:
            rows[:] = rows[sort_uids(rows["uid"])]
        return shuffled

    def _bucket_of(self, uids: UidArray) -> npt.NDArray[np.int64]:
        """Return the number of each uid's bucket, (m,): proportional to its hash."""
        half = np.uint64(32)
        scaled = (hash_words(uids["f0"], uids["f1"]) >> half) * np.uint64(self._count)
        return (scaled >> half).astype(np.int64)
