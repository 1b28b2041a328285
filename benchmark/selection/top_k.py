"""Selection of the k highest scores (``selector=best``)."""

from benchmark.core.ties import highest
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.selection import Selection, Selector, candidates


class TopK(Selector):
    """The k highest scores, the same in every epoch."""

    def select(
        self, table: ScoreTable, k: int, epochs: int, seed: int, pool: Pool, engine: Engine
    ) -> Selection:
        """Select the k highest scores; see `select_top_k`."""
        return select_top_k(table, k, seed)


def select_top_k(table: ScoreTable, k: int, seed: int) -> Selection:
    """Select the k highest scores, ties broken as by `highest`. NaN is never selected.

    Raises `UserError` when fewer than k samples have a score.
    """
    rows, drops = candidates(table, k)
    chosen = rows[highest(table.scores[rows], table.uids[rows], k, seed)]
    return Selection.of_rows(table, [chosen], len(rows), drops)
