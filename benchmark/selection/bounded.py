"""Selection within the bounds of a filter, of pairs that can be read: others are dropped, by reason, before."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from benchmark.core.bounds import Bounds
from benchmark.core.uids import find_uids
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.selection import Selection


def select_within(bounds: Bounds, table: ScoreTable, select: Callable[[ScoreTable], Selection]) -> Selection:
    """Return the selection among the readable pairs within the bounds; `select` chooses from a table.

    The threshold of a filter that decides is the lowest score that passes; all passing pairs are tied.
    """
    if not bounds and not len(table.unreadable):
        return select(table)
    selection = select(within(bounds, table))
    return selection if bounds.rank else replace(selection, threshold=bounds.lowest)


def within(bounds: Bounds, table: ScoreTable) -> ScoreTable:
    """Return the readable pairs within the bounds and those without a score, with the scores that a selection sees.

    These are 1 if the filter decides.
    """
    kept = bounds.passes(table.scores) | np.isnan(table.scores)
    unreadable = find_uids(table.uids, table.unreadable)
    kept[unreadable[unreadable >= 0]] = False
    scores = bounds.apply(table.scores[kept])
    return replace(
        table, uids=table.uids[kept], scores=scores, drops=table.drops + bounds.outside(table.scores)
    )
