"""The scores of a pool: of parts on disk, read block by block, or of arrays in memory."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.core.uids import UID_COLUMNS, UID_DTYPE, UidArray, read_uid_columns, sort_uids
from benchmark.scoring.repeated_uids import Block, find_repeated
from benchmark.scoring.score_parts import SCORE, read_part_blocks, read_part_info
from filters.base import Scores


class ScoreSource(ABC):
    """n uids, each once, and their scores. `dtype` is the type of the scores: float32 or float64."""

    dtype: np.dtype[Any]

    @abstractmethod
    def __len__(self) -> int:
        """Return n."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Yield uids (m,) and their scores (m,), a bounded number at a time, in no order."""

    @abstractmethod
    def scores(self) -> Iterator[Scores]:
        """Yield the scores alone, block by block."""

    @abstractmethod
    def arrays(self) -> Block:
        """Return all uids (n,), sorted, and their scores (n,)."""


class ArraySource(ScoreSource):
    """Scores in memory: `uids` (n,), sorted, each once, and `scores` (n,)."""

    def __init__(self, uids: UidArray, scores: Scores) -> None:
        self._arrays = (uids, scores)
        self.dtype = scores.dtype

    def __len__(self) -> int:
        return len(self._arrays[0])

    def blocks(self) -> Iterator[Block]:
        """Yield everything at once: it is in memory anyway."""
        yield self._arrays

    def scores(self) -> Iterator[Scores]:
        """Yield everything at once."""
        yield self._arrays[1]

    def arrays(self) -> Block:
        """Return the arrays."""
        return self._arrays


class PartSource(ScoreSource):
    """Scores of parts on disk; a uid that occurs more than once in them counts once, with its best score.

    `superfluous` is how many rows that leaves out.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        infos = [read_part_info(path) for path in paths]
        rows = sum(info.rows for info in infos)
        self.dtype = np.result_type(*(info.dtype for info in infos))
        self._repeated = find_repeated(self._uids, self._rows, rows)
        self.superfluous = self._repeated.superfluous
        self._count = rows - self.superfluous

    def __len__(self) -> int:
        return self._count

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the parts without the repeated uids, and these last."""
        for number, (uids, scores) in enumerate(self._rows()):
            if (left_out := self._repeated.rows.get(number)) is not None:
                uids, scores = np.delete(uids, left_out), np.delete(scores, left_out)
            yield uids, scores
        if len(self._repeated.uids):
            yield self._repeated.uids, self._repeated.scores

    def scores(self) -> Iterator[Scores]:
        """Yield the scores of each of the `blocks`; uids are not read."""
        for number, table in enumerate(self._tables(SCORE)):
            scores = self._scores_of(table)
            left_out = self._repeated.rows.get(number)
            yield scores if left_out is None else np.delete(scores, left_out)
        if len(self._repeated.uids):
            yield self._repeated.scores

    def arrays(self) -> Block:
        """Read everything."""
        uids, scores = np.empty(len(self), UID_DTYPE), np.empty(len(self), self.dtype)
        start = 0
        for some_uids, some_scores in self.blocks():
            end = start + len(some_uids)
            uids[start:end], scores[start:end] = some_uids, some_scores
            start = end
        order = sort_uids(uids)
        return uids[order], scores[order]

    def _uids(self) -> Iterator[UidArray]:
        return map(read_uid_columns, self._tables(*UID_COLUMNS))

    def _rows(self) -> Iterator[Block]:
        for table in self._tables(*UID_COLUMNS, SCORE):
            yield read_uid_columns(table), self._scores_of(table)

    def _tables(self, *columns: str) -> Iterator[Any]:
        for path in self._paths:
            yield from read_part_blocks(path, columns)

    def _scores_of(self, table: Any) -> Scores:
        return np.asarray(table[SCORE].to_numpy(), self.dtype)


@dataclass
class ScoreTable:
    """The scores of n samples, each uid once.

    `drops` counts samples without a score by reason. `own_seconds` is the time that scoring took when it was done,
    `features` the extraction seconds of each of the filter's features by its key; `reused` is the share of parts that
    an earlier run had scored.
    """

    source: ScoreSource
    drops: Counter[str]
    own_seconds: float = 0.0
    features: dict[str, float] = field(default_factory=dict)
    reused: float = 0.0

    def __len__(self) -> int:
        return len(self.source)

    @cached_property
    def _arrays(self) -> Block:
        return self.source.arrays()

    @property
    def uids(self) -> UidArray:
        """All uids (n,), sorted: read into memory when they, or all scores, are first asked for."""
        return self._arrays[0]

    @property
    def scores(self) -> Scores:
        """The scores (n,) of `uids`."""
        return self._arrays[1]

    @property
    def seconds(self) -> float:
        """The cost of these scores as if no other filter had shared a feature; each feature counts once."""
        return self.own_seconds + sum(self.features.values())
