"""Selection of the k highest scores (``selector=best``)."""

import numpy as np

from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import ScoreTable
from benchmark.selection.selection import Selection, Selector, candidates


class TopK(Selector):
    """The k highest scores, the same ones in every epoch."""

    def select(self, table: ScoreTable, k: int, epochs: int, pool: Pool, engine: Engine) -> Selection:
        """Select the k highest scores; see `select_top_k`."""
        return select_top_k(table, k)


def select_top_k(table: ScoreTable, k: int) -> Selection:
    """Select the k highest scores; ties go to the smaller uid, NaN is never selected.

    Raises `UserError` when fewer than k samples have a score. Infinities are scores like any other.
    """
    valid, drops = candidates(table, k)
    scores = table.scores[valid]
    threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
    above = np.flatnonzero(scores > threshold)
    # The table is sorted by uid, so the first ties are those with the smallest uids.
    ties = np.flatnonzero(scores == threshold)[: k - len(above)]
    return Selection.of_rows(table, [valid[np.concatenate([above, ties])]], len(valid), drops)
