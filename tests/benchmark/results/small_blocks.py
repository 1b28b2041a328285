"""Scores in small blocks, as those of many parts are."""

from collections.abc import Iterator

import numpy as np

from benchmark.scoring.score_table import ArraySource, Block, Keep, every
from filters.base import Scores

ROWS = 7


class SmallBlocks(ArraySource):
    """Blocks of `ROWS` samples, and what is left over, in no order."""

    def blocks(self, keep: Keep = every) -> Iterator[Block]:
        for rows in self._rows():
            uids, scores = (array[rows] for array in self.arrays())
            kept = np.flatnonzero(keep(scores))
            yield uids[kept], scores[kept]

    def scores(self) -> Iterator[Scores]:
        return (self.arrays()[1][rows] for rows in self._rows())

    def _rows(self) -> list[np.ndarray]:
        return np.split(np.random.default_rng(len(self)).permutation(len(self)), range(ROWS, len(self), ROWS))
