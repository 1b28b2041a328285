"""Scores of several filters for one pool, joined by uid: a shard at a time, in the memory of one."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.paths import cache_dir
from benchmark.core.pool_scores import Columns, Combine, PoolScores
from benchmark.core.uids import UidArray, UidIndex, sort_uids
from benchmark.scoring.repeated_uids import Block, Words, best_of_each, find_repeated
from benchmark.scoring.score_folder import shard_name
from benchmark.scoring.score_table import ScoreSource
from filters.base import Scores


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
    files: npt.NDArray[np.int64]

    def take(self, rows: npt.NDArray[np.int64]) -> "JoinedBlock":
        """Return some of the samples."""
        return JoinedBlock(self.uids[rows], [column[rows] for column in self.columns], self.files[rows])

    def matrix(self) -> npt.NDArray[np.float64]:
        """Return columns and files, (m, filters + 1), such that a sample's highest values are its best and first."""
        return np.stack([*self.columns, -self.files], axis=1, dtype=np.float64)


class JoinedScores:
    """The samples of all sources, each once, with the best of its scores in each.

    Files of all sources that belong to one shard are joined at a time: tar and metadata of a shard have one name.
    Samples that are in several shards are held in memory.

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
        self._repeated = find_repeated(self._words, self._matrices, max(map(len, sources)))

    def blocks(self) -> Iterator[JoinedBlock]:
        """Yield the samples of each shard that are in no other, and at last those that are in several."""
        for number, files in enumerate(self._shards):
            yield self._counted(self._shard(files), self._repeated.rows.get(number))
        yield self._in_several()

    def scores(self) -> PoolScores:
        """Return the scores for a composite; its temporary files lie in the cache."""
        return PoolScores(
            lambda: ((block.columns, block.uids) for block in self.blocks()), self._dtypes, cache_dir()
        )

    def by_file(self, combine: Combine) -> Iterator[tuple[str, UidArray, Scores]]:
        """Yield each file with the uids, sorted, of the samples that are in no earlier one, and their scores."""
        several = self._in_several()
        of_several = combine(several.columns, several.uids)
        order = np.argsort(several.files, kind="stable")
        ends = np.searchsorted(several.files[order], np.arange(len(self.files) + 1))
        for number, files in enumerate(self._shards):
            block = self._counted(self._shard(files), self._repeated.rows.get(number))
            scores = combine(block.columns, block.uids)
            for file in files:
                place = self._number[file]
                rows, more = np.flatnonzero(block.files == place), order[ends[place] : ends[place + 1]]
                uids = np.concatenate([block.uids[rows], several.uids[more]])
                by_uid = sort_uids(uids)
                yield file, uids[by_uid], np.concatenate([scores[rows], of_several[more]])[by_uid]

    def _counted(self, block: JoinedBlock, left_out: npt.NDArray[np.int64] | None) -> JoinedBlock:
        """Return the samples that count, without some rows."""
        if self._among is None and left_out is None:
            return block
        counted = np.ones(len(block.uids), bool) if self._among is None else self._among.find(block.uids) >= 0
        counted[[] if left_out is None else left_out] = False
        return block.take(np.flatnonzero(counted))

    def _in_several(self) -> JoinedBlock:
        return self._counted(self._of_matrix(self._repeated.uids, self._repeated.scores), None)

    def _of_matrix(self, uids: UidArray, matrix: Scores) -> JoinedBlock:
        """Return the block of a matrix, see `JoinedBlock.matrix`."""
        matrix = matrix.reshape(len(uids), len(self._dtypes) + 1)
        columns = [matrix[:, number].astype(dtype) for number, dtype in enumerate(self._dtypes)]
        return JoinedBlock(uids, columns, -matrix[:, -1].astype(np.int64))

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
        return self._of_matrix(
            *best_of_each(
                np.concatenate([part[2] for part in parts]),
                np.concatenate([self._lonely(*part).matrix() for part in parts]),
            )
        )

    def _lonely(self, number: int, file: int, uids: UidArray, scores: Scores) -> JoinedBlock:
        """Return the samples of one file with the scores of one filter, NaN by the others."""
        columns = [np.full(len(uids), np.nan, dtype) for dtype in self._dtypes]
        columns[number] = scores
        return JoinedBlock(uids, columns, np.full(len(uids), file))

    def _words(self) -> Iterator[Words]:
        for files in self._shards:
            uids = self._shard(files).uids
            yield uids["f0"], uids["f1"]

    def _matrices(self) -> Iterator[Block]:
        for files in self._shards:
            block = self._shard(files)
            yield block.uids, block.matrix()
