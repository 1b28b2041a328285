"""Selection over clusters: every epoch draws a share of every cluster (DS-CLIP)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_CLUSTER
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ties import highest
from benchmark.core.uids import UidArray, sort_uids
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.processor_time import add_filters
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.cluster_members import ClusterMembers
from benchmark.selection.selection import Selection, Selector, check_scored
from filters.base import Filter, Scores

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
        labels = score_pool(pool, self.labels, engine)
        members = ClusterMembers(table.source, labels.source)
        scored = int(members.sizes.sum())
        drops = table.drops + Counter({NO_CLUSTER: members.without_cluster})
        left = check_scored(drops, len(table) - members.without_cluster, scored, k)
        shares = quotas(members.sizes.astype(np.float64) ** EXPONENTS[self.weight], members.sizes, k)
        if self.order == "random":
            counts = epoch_counts(shares, members.sizes, k, epochs)
        else:
            counts = apportion(shares, k, members.sizes)[None]
        uids, threshold, tied_kept = self._draw(members, counts, seed)
        cost = _cost_of_both(table, labels)
        tied = members.count(threshold)
        return Selection(uids, threshold, scored, tied, tied_kept, left, cost.seconds, cost.processor_seconds)

    def _draw(
        self, members: ClusterMembers, counts: Integers, seed: int
    ) -> tuple[tuple[UidArray, ...], float, int]:
        """Return the uids of each epoch, sorted, their lowest score, and how many different ones have it.

        Args:
            members: the c clusters.
            counts: how many of each cluster every epoch gets, shape (epochs, c).
            seed: random seed of the draws.
        """
        drawn: list[list[UidArray]] = [[] for _ in counts]
        lowest = []
        for number, (uids, scores) in enumerate(members.clusters()):
            epochs = self._choose(uids, scores, counts[:, number], seed, number)
            for of_epoch, rows in zip(drawn, epochs, strict=True):
                of_epoch.append(uids[rows])
            different = scores[np.unique(np.concatenate(epochs))]
            if len(different):
                lowest.append((float(different.min()), int((different == different.min()).sum())))
        threshold = min(score for score, _ in lowest)
        joined = map(np.concatenate, drawn)
        return (
            tuple(epoch[sort_uids(epoch)] for epoch in joined),
            threshold,
            sum(count for score, count in lowest if score == threshold),
        )

    def _choose(
        self, uids: UidArray, scores: Scores, counts: Integers, seed: int, number: int
    ) -> list[Integers]:
        """Return the rows of one cluster, whose number is given, that each epoch gets."""
        if self.order == "score":
            return [highest(scores, uids, int(count), seed) for count in counts]
        deck = Deck(len(uids), np.random.default_rng([seed, number]))
        return [deck.draw(int(count)) for count in counts]


def _cost_of_both(table: ScoreTable, labels: ScoreTable) -> ScoreTable:
    """Return the table with the cost of the labels added to its own."""
    return replace(
        table,
        own_seconds=table.own_seconds + labels.own_seconds,
        features=table.features | labels.features,
        processor=add_filters([table.processor, labels.processor]),
    )


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


def epoch_counts(shares: Floats, sizes: Integers, k: int, epochs: int) -> Integers:
    """Return how many of each of c clusters every epoch gets, k in all, shape (epochs, c).

    Shares of k, (c,), are met cumulatively over the epochs, so that a cluster with a share below one is drawn from in
    some epochs.
    """
    counts = np.zeros((epochs, len(sizes)), np.int64)
    taken = np.zeros(len(sizes), np.int64)
    for epoch in range(epochs):
        counts[epoch] = apportion((epoch + 1) * shares - taken, k, sizes)
        taken += counts[epoch]
    return counts


class Deck:
    """The rows of one cluster, from 0 to `size`: drawn without replacement until all are, then shuffled again."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size = size
        self.rng = rng
        self.left = rng.permutation(size)

    def draw(self, count: int) -> Integers:
        """Return `count` different rows; at most as many as the cluster has."""
        drawn, self.left = self.left[:count], self.left[count:]
        if len(drawn) < count:
            fresh = self.rng.permutation(self.size)
            again = np.isin(fresh, drawn)
            # Rows that were just drawn come last in the next round.
            self.left = np.concatenate([fresh[~again], fresh[again]])
            rest, self.left = np.split(self.left, [count - len(drawn)])
            drawn = np.concatenate([drawn, rest])
        return drawn
