"""The scores of a pool in memory, 20 bytes per pair, and scores of several filters joined by uid."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from benchmark.core.batch import counts
from benchmark.core.bounds import NO_BOUNDS, Bounds
from benchmark.core.errors import UserError
from benchmark.core.uids import UID_DTYPE, UidArray, find_uids, unite_uids
from benchmark.core.usage import Seconds
from benchmark.pool.pairs import SCHEMA, pair_tables
from benchmark.pool.pool import Pool
from benchmark.scoring.score_parts import Costs, total_cost
from filters.base import Scores


@dataclass(eq=False)
class ScoreTable:
    """The scores of n samples."""

    uids: UidArray  # shape (n,), sorted, each once
    scores: Scores  # shape (n,), NaN for none
    drops: Counter[str] = field(default_factory=Counter)  # samples without a score, by reason
    costs: Costs = field(default_factory=dict)  # of scoring when it was done, and of the features
    reused: float = 0.0  # fraction of parts that an earlier run had scored
    pool: Pool | None = None  # None for joined scores
    # Pairs that a selection passes over, as their images cannot be read; `uids` within its bounds lack them.
    unreadable: UidArray = field(default_factory=lambda: np.empty(0, UID_DTYPE))
    bounds: Bounds = NO_BOUNDS  # the filter's bounds, for a selection from Python

    def __len__(self) -> int:
        return len(self.uids)

    def __repr__(self) -> str:
        return f"ScoreTable({len(self):,} pairs, dropped: {counts(self.drops) or 'none'})"

    def of_uids(self, uids: UidArray) -> "ScoreTable":
        """Return the scores of some of the samples, given by their uids (k,), sorted, each once."""
        return ScoreTable(uids, self.scores[find_uids(self.uids, uids)])

    def without(self, uids: UidArray, reason: str) -> "ScoreTable":
        """Return the table without some pairs of the pool, given by their uids (m,), counted as drops by `reason`."""
        rows = find_uids(self.uids, uids)
        kept = np.ones(len(self), bool)
        kept[rows[rows >= 0]] = False
        drops = self.drops + Counter({reason: len(uids)})
        return (
            replace(self, uids=self.uids[kept], scores=self.scores[kept], drops=drops) if len(uids) else self
        )

    def to_arrow(self, uids: UidArray | None = None) -> pa.Table:
        """Return ``uid, url, caption, score`` of these uids (k,), by default of all pairs, in the pool's order.

        The url is null if the pool has no urls. Raises `UserError` for joined scores, which have no pool.
        """
        if self.pool is None:
            raise UserError(
                "these scores are not of one pool; only those that score(...) returns have captions"
            )
        table = self
        if uids is not None:
            distinct = unite_uids([uids])
            table = self.of_uids(distinct[find_uids(self.uids, distinct) >= 0])
        pairs = pair_tables(self.pool, table.uids, table.scores)
        return pa.concat_tables([SCHEMA.empty_table(), *pairs])

    @property
    def cost(self) -> Seconds:
        """The cost of these scores as if no other filter had shared a feature; each feature counts once."""
        return total_cost(self.costs)


def join_scores(tables: Sequence[ScoreTable]) -> tuple[UidArray, list[Scores]]:
    """Return the m uids of all tables, sorted, each once, and the scores of each table, (m,): NaN for none."""
    uids, columns = unite_uids([table.uids for table in tables]), []
    for table in tables:
        if len(table) == len(uids):
            columns.append(table.scores)
        else:
            columns.append(np.full(len(uids), np.nan, table.scores.dtype))
            columns[-1][find_uids(uids, table.uids)] = table.scores
    return uids, columns
