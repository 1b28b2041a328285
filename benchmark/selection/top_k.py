"""Selection of the k highest scores (``selector=best``)."""

from benchmark.core.ties import highest
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import ScoreTable
from benchmark.selection.selection import Selection, Selector, candidates


class TopK(Selector):
    """The k highest scores, the same ones in every epoch."""

    def select(
        self, table: ScoreTable, k: int, epochs: int, seed: int, pool: Pool, engine: Engine
    ) -> Selection:
        """Select the k highest scores; see `select_top_k`."""
        return select_top_k(table, k, seed)


def select_top_k(table: ScoreTable, k: int, seed: int) -> Selection:
    """Select the k highest scores; of equal ones those that `highest` keeps. NaN is never selected.

    Raises `UserError` when fewer than k samples have a score. Infinities are scores like any other.
    """
    rows, drops = candidates(table, k)
    best = highest(table.scores[rows], table.uids[rows], k, seed)
    return Selection.of_rows(table, [rows[best]], len(rows), drops)
