"""Selection over clusters: every epoch draws a share of every cluster (DS-CLIP)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_CLUSTER
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ties import highest
from benchmark.core.uids import find_uids
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.processor_time import add_filters
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ArraySource, ScoreTable
from benchmark.selection.selection import Selection, Selector, candidates
from filters.base import Filter

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
EXPONENTS = {"size": 1.0, "square_root": 0.5}
ORDERS = ("random", "score")


class ClusterSelector(Selector):
    """k pairs per epoch, out of all that the filter scores (DS-CLIP, supplement, section D).

    UNIFORM: the same share of every cluster, at random; over the epochs without replacement until a cluster is used
    up. WEIGHTED: likewise, with shares proportional to the square root of a cluster's size. SORTED: the highest
    scores of every cluster, the same pairs in every epoch.

    Args:
        labels: the filter that assigns clusters.
        weight: what a cluster's share is proportional to: its ``size``, or the ``square_root`` of its size.
        order: the order in which a cluster's pairs are taken: ``random``, or by descending ``score``.
    """

    def __init__(self, labels: Filter, weight: str, order: str) -> None:
        for name, value, known in (("weight", weight, EXPONENTS), ("order", order, ORDERS)):
            if value not in known:
                raise UserError(f"selector.{name}={value} is unknown; {did_you_mean(value, known)}")
        self.labels = labels
        self.weight = weight
        self.order = order

    def readers(self) -> Sequence[Filter]:
        """Return the filter that assigns clusters."""
        return (self.labels,)

    def select(
        self, table: ScoreTable, k: int, epochs: int, seed: int, pool: Pool, engine: Engine
    ) -> Selection:
        """Select k pairs per epoch; with ``order=score`` a single epoch stands for all."""
        table, labels = _join(table, score_pool(pool, self.labels, engine))
        rows, drops = candidates(table, k)
        # Rows are sorted by uid, so the draws do not depend on shards or workers.
        by_cluster = rows[np.argsort(labels[rows], kind="stable")]
        sizes = np.unique(labels[rows], return_counts=True)[1]
        clusters = np.split(by_cluster, np.cumsum(sizes)[:-1])
        shares = quotas(sizes.astype(np.float64) ** EXPONENTS[self.weight], sizes, k)
        if self.order == "random":
            epoch_rows = draw(clusters, shares, k, epochs, seed)
        else:
            counts = apportion(shares, k, sizes)
            best = [
                cluster[highest(table.scores[cluster], table.uids[cluster], count, seed)]
                for cluster, count in zip(clusters, counts, strict=True)
            ]
            epoch_rows = [np.concatenate(best)]
        return Selection.of_rows(table, epoch_rows, len(rows), drops)


def _join(table: ScoreTable, labels: ScoreTable) -> tuple[ScoreTable, Integers]:
    """Return the scores of samples that have a cluster, and these clusters, shape (n,); costs are added up."""
    rows = find_uids(labels.uids, table.uids)
    known = rows >= 0
    drops = table.drops + Counter({NO_CLUSTER: int(len(known) - known.sum())})
    joined = replace(
        table,
        source=ArraySource(table.uids[known], table.scores[known]),
        drops=drops,
        own_seconds=table.own_seconds + labels.own_seconds,
        features=table.features | labels.features,
        processor=add_filters([table.processor, labels.processor]),
    )
    return joined, labels.scores[rows[known]].astype(np.int64)


def quotas(weights: Floats, sizes: Integers, k: int) -> Floats:
    """Return each cluster's share of k, proportional to its weight but at most its size; shares sum to k."""
    shares = sizes.astype(np.float64)
    free = np.ones(len(sizes), bool)
    while free.any():
        shares[free] = (k - sizes[~free].sum()) * weights[free] / weights[free].sum()
        full = free & (shares >= sizes)
        if not full.any():
            break
        shares[full] = sizes[full]
        free &= ~full
    return shares


def apportion(shares: Floats, k: int, sizes: Integers) -> Integers:
    """Round shares that sum to k to integers that sum to k, from 0 to `sizes`, by the largest remainders."""
    counts = np.clip(np.floor(shares), 0, sizes).astype(np.int64)
    while missing := k - int(counts.sum()):
        change = 1 if missing > 0 else -1
        adjustable = np.flatnonzero(counts < sizes if change > 0 else counts > 0)
        order = adjustable[np.argsort(-change * (shares - counts)[adjustable], kind="stable")]
        counts[order[: abs(missing)]] += change
    return counts


def draw(clusters: Sequence[Integers], shares: Floats, k: int, epochs: int, seed: int) -> list[Integers]:
    """Return k rows per epoch, a share of every cluster.

    Args:
        clusters: the rows of each cluster.
        shares: each cluster's share of k. Shares are met cumulatively over the epochs, so that a cluster with a share
            below one is drawn from in some epochs.
        k: rows per epoch.
        epochs: number of epochs.
        seed: random seed of the order in which rows are drawn.
    """
    sizes = np.array([len(cluster) for cluster in clusters])
    decks = [_Deck(cluster, np.random.default_rng([seed, i])) for i, cluster in enumerate(clusters)]
    taken = np.zeros(len(clusters), np.int64)
    drawn = []
    for epoch in range(epochs):
        counts = apportion((epoch + 1) * shares - taken, k, sizes)
        taken += counts
        drawn.append(np.concatenate([decks[i].draw(counts[i]) for i in np.flatnonzero(counts)]))
    return drawn


class _Deck:
    """One cluster's rows: drawn without replacement until they are used up, then shuffled again."""

    def __init__(self, rows: Integers, rng: np.random.Generator) -> None:
        self.rows = rows
        self.rng = rng
        self.left = rng.permutation(rows)

    def draw(self, count: int) -> Integers:
        """Return `count` different rows; at most as many as the cluster has."""
        drawn, self.left = self.left[:count], self.left[count:]
        if len(drawn) < count:
            fresh = self.rng.permutation(self.rows)
            again = np.isin(fresh, drawn)
            # Rows that were just drawn come last in the next round.
            self.left = np.concatenate([fresh[~again], fresh[again]])
            rest, self.left = np.split(self.left, [count - len(drawn)])
            drawn = np.concatenate([drawn, rest])
        return drawn
