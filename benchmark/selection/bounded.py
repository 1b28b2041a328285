"""Selection within the bounds of a filter, of pairs that can be read: others are dropped, by reason, before."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from benchmark.core.bounds import Bounds
from benchmark.core.uids import UidArray, UidIndex
from benchmark.scoring.score_table import Block, Keep, ScoreSource, ScoreTable, every
from benchmark.selection.selection import Selection
from filters.base import Scores


class BoundedSource(ScoreSource):
    """Scores within the bounds, all 1 if the filter decides, and NaN; `outside` counts the others by reason.

    It lacks the `unreadable` pairs, which must be within the bounds.
    """

    def __init__(self, source: ScoreSource, bounds: Bounds, unreadable: UidArray) -> None:
        self.files = source.files
        self.dtype = source.dtype if bounds.rank else np.dtype(np.float32)
        self.outside = Counter[str]()
        self._source = source
        self._bounds = bounds
        self._unreadable = UidIndex(unreadable)
        self._passed_over = len(unreadable)
        for scores in source.scores():
            self.outside.update(bounds.outside(scores))

    def __len__(self) -> int:
        return len(self._source) - self.outside.total() - self._passed_over

    def blocks(self, keep: Keep = every) -> Iterator[Block]:
        """Yield the pairs whose scores, as a selection sees them, `keep` accepts."""
        apply = self._bounds.apply
        for uids, scores in self._source.blocks(lambda scores: self._sees(scores) & keep(apply(scores))):
            yield self._readable(uids, apply(scores))

    def scores(self) -> Iterator[Scores]:
        """Yield the scores of the `blocks`."""
        if self._passed_over:
            return (scores for _, scores in self.blocks())
        return (self._bounds.apply(scores[self._sees(scores)]) for scores in self._source.scores())

    def read(self, file: str) -> Block:
        """Return the pairs of one file."""
        uids, scores = self._source.read(file)
        rows = np.flatnonzero(self._sees(scores))
        return self._readable(uids[rows], self._bounds.apply(scores[rows]))

    def _readable(self, uids: UidArray, scores: Scores) -> Block:
        rows = np.flatnonzero(self._unreadable.find(uids) < 0) if self._passed_over else slice(None)
        return uids[rows], scores[rows]

    def _sees(self, scores: Scores) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return self._bounds.passes(scores) | np.isnan(scores)


def select_within(bounds: Bounds, table: ScoreTable, select: Callable[[ScoreTable], Selection]) -> Selection:
    """Return the selection among the readable pairs within the bounds; `select` chooses from a table.

    The threshold of a filter that decides is the lowest score that passes; all passing pairs are tied.
    """
    if not bounds and not len(table.unreadable):
        return select(table)
    source = BoundedSource(table.source, bounds, table.unreadable)
    selection = select(replace(table, source=source, drops=table.drops + source.outside))
    return selection if bounds.rank else replace(selection, threshold=bounds.lowest)
