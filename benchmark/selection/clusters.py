"""Selection over clusters: every epoch a draw of its own that has its share of every cluster (DS-CLIP)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_CLUSTER
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.uids import find_uids
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import ScoreTable, score_pool
from benchmark.selection.selection import Selection, Selector, candidates
from filters.embeddings.cluster_labels import ClusterLabels

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
EXPONENTS = {"size": 1.0, "square_root": 0.5}
ORDERS = ("random", "score")


class ClusterSelector(Selector):
    """k pairs for each epoch, out of all that the filter scores (DS-CLIP, supplement, section D).

    UNIFORM: the same share of every cluster, at random, without replacement until a cluster is used up, epoch after
    epoch. WEIGHTED: likewise, with shares by the square root of a cluster's size. SORTED: of every cluster those that
    the filter scores highest, the same ones in every epoch.

    Args:
        labels: the clusters.
        weight: what a cluster's share goes by, ``size`` or ``square_root`` of it.
        order: in which a cluster's pairs are taken, ``random`` or by ``score``.
        seed: of the draws.
    """

    def __init__(self, labels: ClusterLabels, weight: str, order: str, seed: int) -> None:
        for name, value, known in (("weight", weight, EXPONENTS), ("order", order, ORDERS)):
            if value not in known:
                raise UserError(f"selector.{name}={value} is unknown; {did_you_mean(value, known)}")
        self.labels = labels
        self.weight = weight
        self.order = order
        self.seed = seed

    def select(self, table: ScoreTable, k: int, epochs: int, pool: Pool, engine: Engine) -> Selection:
        """Choose k pairs for each epoch; by score, one epoch stands for all."""
        table, labels = _join(table, score_pool(pool, self.labels, engine))
        rows, drops = candidates(table, k)
        # Rows are in the order of their uids: what is drawn does not depend on shards or workers.
        by_cluster = rows[np.argsort(labels[rows], kind="stable")]
        sizes = np.unique(labels[rows], return_counts=True)[1]
        clusters = np.split(by_cluster, np.cumsum(sizes)[:-1])
        shares = quotas(sizes.astype(np.float64) ** EXPONENTS[self.weight], sizes, k)
        if self.order == "random":
            drawn = draw(clusters, shares, k, epochs, self.seed)
        else:
            counts = apportion(shares, k, sizes)
            ranked = [c[np.argsort(-table.scores[c], kind="stable")] for c in clusters]
            drawn = [np.concatenate([c[:count] for c, count in zip(ranked, counts, strict=True)])]
        return Selection.of_rows(table, drawn, len(rows), drops)


def _join(table: ScoreTable, labels: ScoreTable) -> tuple[ScoreTable, Integers]:
    """Return the scores of samples that have a cluster, and their clusters, (n,), at the cost of both."""
    places = find_uids(labels.uids, table.uids)
    known = places >= 0
    drops = table.drops + Counter({NO_CLUSTER: int(len(known) - known.sum())})
    joined = replace(
        table,
        uids=table.uids[known],
        scores=table.scores[known],
        drops=drops,
        own_seconds=table.own_seconds + labels.own_seconds,
        features=table.features | labels.features,
    )
    return joined, labels.scores[places[known]].astype(np.int64)


def quotas(weights: Floats, sizes: Integers, k: int) -> Floats:
    """Return each cluster's part of k, in proportion to its weight but not more than its size; they sum to k."""
    parts = sizes.astype(np.float64)
    free = np.ones(len(sizes), bool)
    while free.any():
        parts[free] = (k - sizes[~free].sum()) * weights[free] / weights[free].sum()
        full = free & (parts >= sizes)
        if not full.any():
            break
        parts[full] = sizes[full]
        free &= ~full
    return parts


def apportion(parts: Floats, k: int, sizes: Integers) -> Integers:
    """Return whole numbers that sum to k, from 0 to `sizes`, for `parts` that do: those of the largest remainder."""
    counts = np.clip(np.floor(parts), 0, sizes).astype(np.int64)
    while missing := k - int(counts.sum()):
        step = 1 if missing > 0 else -1
        able = np.flatnonzero(counts < sizes if step > 0 else counts > 0)
        order = able[np.argsort(-step * (parts - counts)[able], kind="stable")]
        counts[order[: abs(missing)]] += step
    return counts


def draw(clusters: Sequence[Integers], shares: Floats, k: int, epochs: int, seed: int) -> list[Integers]:
    """Return k rows for each epoch, of every cluster its share.

    Args:
        clusters: the rows of each.
        shares: of k, for each cluster; they are met over all epochs so far, so that a cluster with a share below one
            has its turn.
        k: rows of an epoch.
        epochs: how many.
        seed: of the draws.
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
    """One cluster's rows: dealt without replacement until they are used up, then shuffled again."""

    def __init__(self, rows: Integers, rng: np.random.Generator) -> None:
        self.rows = rows
        self.rng = rng
        self.left = rng.permutation(rows)

    def draw(self, count: int) -> Integers:
        """Return `count` rows, no row twice; at most all."""
        drawn, self.left = self.left[:count], self.left[count:]
        if len(drawn) < count:
            fresh = self.rng.permutation(self.rows)
            again = np.isin(fresh, drawn)
            # Those of this draw come last in the next round.
            self.left = np.concatenate([fresh[~again], fresh[again]])
            rest, self.left = np.split(self.left, [count - len(drawn)])
            drawn = np.concatenate([drawn, rest])
        return drawn
