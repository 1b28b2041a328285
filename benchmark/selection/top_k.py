"""Selection of the k highest scores (``selector=best``)."""

import numpy as np

from benchmark.core.ranks import ScoreCounts
from benchmark.core.ties import HighestHashes
from benchmark.core.uids import UID_DTYPE, sort_uids
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.selection import Selection, Selector, check_scored


class TopK(Selector):
    """The k highest scores, the same in every epoch."""

    def select(
        self, table: ScoreTable, k: int, epochs: int, seed: int, pool: Pool, engine: Engine
    ) -> Selection:
        """Select the k highest scores; see `select_top_k`."""
        return select_top_k(table, k, seed)


def select_top_k(table: ScoreTable, k: int, seed: int) -> Selection:
    """Select the k highest scores, ties broken as by `highest`. NaN is never selected.

    The scores are read three times (float32) or five times (float64), a block at a time: memory is that of k uids.

    Raises `UserError` when fewer than k samples have a score.
    """
    counts = ScoreCounts(table.source.scores, table.source.dtype)
    drops = check_scored(table.drops, len(table), counts.scored, k, table.pool)
    threshold = counts.kth_highest(k)
    tied_kept = k - threshold.above
    uids, tied, start = np.empty(k, UID_DTYPE), HighestHashes(tied_kept, seed), 0
    for some, scores in table.source.blocks(lambda scores: scores >= threshold.score):
        above = some[np.flatnonzero(scores > threshold.score)]
        uids[start : start + len(above)] = above
        start += len(above)
        tied.add(some[scores == threshold.score])
    uids[start:] = tied.uids()
    uids = uids[sort_uids(uids)]
    return Selection((uids,), threshold.score, counts.scored, threshold.tied, tied_kept, drops, table.cost)
