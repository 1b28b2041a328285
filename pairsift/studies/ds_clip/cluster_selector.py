"""Selection over clusters: every epoch draws from every cluster (DS-CLIP)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import NO_CLUSTER
from benchmark.core.ranges import checked
from benchmark.core.ties import highest
from benchmark.core.uids import UidArray, find_uids, sort_uids
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_parts import add_filters, total_cost
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable, join_scores
from benchmark.selection.selection import Selection, Selector, check_scored
from filters.base import Filter, Scores

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
EXPONENTS = {"size": 1.0, "square_root": 0.5}


class ClusterMembers:
    """All samples that have a score, not NaN, and the label of a cluster, and those unreadable that have a label.

    `uids` (m,) and `scores` (m,), NaN if unreadable, are those of each cluster in turn, by ascending labels, in the
    order of uids. `sizes`, (c,), counts the samples of each cluster, `readable` those with a score;
    `without_cluster` counts all samples without one.
    """

    def __init__(self, table: ScoreTable, labels: ScoreTable) -> None:
        uids, (scores, of_labels) = join_scores([table, labels])
        unreadable = find_uids(uids, table.unreadable)
        known = ~np.isnan(scores)
        known[unreadable[unreadable >= 0]] = True
        self.without_cluster = int(np.isnan(of_labels).sum())
        rows = np.flatnonzero(known & ~np.isnan(of_labels))
        rows = rows[np.argsort(of_labels[rows], kind="stable")]
        starts, self.sizes = np.unique(of_labels[rows], return_index=True, return_counts=True)[1:]
        self.uids, self.scores = uids[rows], scores[rows]
        self.readable = np.add.reduceat(~np.isnan(self.scores), starts, dtype=np.int64)
        self._starts = starts[1:]

    def clusters(self) -> Iterator[tuple[UidArray, Scores]]:
        """Yield the uids (m,) and scores (m,) of the m members of each cluster."""
        return zip(np.split(self.uids, self._starts), np.split(self.scores, self._starts), strict=True)


@checked
class ClusterSelector(Selector):
    """k pairs per epoch, out of all that the filter scores (DS-CLIP, supplement, section D).

    UNIFORM: the same fraction of every cluster, at random; over the epochs without replacement until it is used
    up. WEIGHTED: likewise, with targets proportional to the square root of a cluster's size. SORTED: the highest
    scores of every cluster, the same pairs in every epoch.

    Args:
        labels: the filter that assigns clusters.
        weight: what a cluster's quota is proportional to: its ``size``, or the ``square_root`` of its size.
        order: the order in which a cluster's pairs are taken: ``random``, or by descending ``score``.
    """

    def __init__(
        self, labels: Filter, weight: Literal["size", "square_root"], order: Literal["random", "score"]
    ) -> None:
        self.labels = labels
        self.weight = weight
        self.order = order

    def readers(self) -> Sequence[Filter]:
        """Return the filter that assigns clusters."""
        return (self.labels,)

    def select(
        self, table: ScoreTable, k: int, epochs: int, seed: int, pool: Pool, engine: Engine
    ) -> Selection:
        """Select k pairs per epoch; with ``order=score`` a single epoch for all."""
        labels = score_pool(pool, self.labels, engine)
        members = ClusterMembers(table, labels)
        scored = int(members.readable.sum())
        drops = table.drops + Counter({NO_CLUSTER: members.without_cluster})
        left = check_scored(drops, len(table) - members.without_cluster, scored, k, pool)
        targets = quotas(members.sizes.astype(np.float64) ** EXPONENTS[self.weight], members.readable, k)
        if self.order == "random":
            counts = epoch_counts(targets, members.readable, k, epochs)
        else:
            counts = apportion(targets, k, members.readable)[None]
        uids, threshold, tied_kept = self._draw(members, counts, seed)
        cost = total_cost(add_filters([table.costs, labels.costs]))
        tied = int((members.scores == threshold).sum())
        return Selection(uids, threshold, scored, tied, tied_kept, left, cost)

    def _draw(
        self, members: ClusterMembers, counts: Integers, seed: int
    ) -> tuple[tuple[UidArray, ...], float, int]:
        """Return the uids of each epoch, sorted, their lowest score, and how many different samples have it.

        `counts` says how many of each of c clusters every epoch gets, shape (epochs, c).
        """
        drawn: list[list[UidArray]] = [[] for _ in counts]
        lowest = []
        for number, (uids, scores) in enumerate(members.clusters()):
            if self.order == "score":
                rows = np.flatnonzero(~np.isnan(scores))
                some, of_rows = uids[rows], scores[rows]
                epochs = [rows[highest(of_rows, some, int(count), seed)] for count in counts[:, number]]
            else:
                deck = Deck(~np.isnan(scores), np.random.default_rng([seed, number]))
                epochs = [deck.draw(int(count)) for count in counts[:, number]]
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


def quotas(weights: Floats, sizes: Integers, k: int) -> Floats:
    """Return each cluster's quota of k, proportional to its weight but at most its size; quotas sum to k."""
    targets = sizes.astype(np.float64)
    free = np.ones(len(sizes), bool)
    while free.any():
        targets[free] = (k - sizes[~free].sum()) * weights[free] / weights[free].sum()
        full = free & (targets >= sizes)
        if not full.any():
            break
        targets[full] = sizes[full]
        free &= ~full
    return targets


def apportion(targets: Floats, k: int, sizes: Integers) -> Integers:
    """Round targets that sum to k to integers that sum to k, from 0 to `sizes`, by the largest remainders."""
    counts = np.clip(np.floor(targets), 0, sizes).astype(np.int64)
    while missing := k - int(counts.sum()):
        change = 1 if missing > 0 else -1
        adjustable = np.flatnonzero(counts < sizes if change > 0 else counts > 0)
        order = adjustable[np.argsort(-change * (targets - counts)[adjustable], kind="stable")]
        counts[order[: abs(missing)]] += change
    return counts


def epoch_counts(targets: Floats, sizes: Integers, k: int, epochs: int) -> Integers:
    """Return how many of each of c clusters every epoch gets, k in all, shape (epochs, c).

    The targets (c,), quotas of k, are met cumulatively over the epochs: a cluster with a target below one is drawn
    from in some epochs.
    """
    counts = np.zeros((epochs, len(sizes)), np.int64)
    taken = np.zeros(len(sizes), np.int64)
    for epoch in range(epochs):
        counts[epoch] = apportion((epoch + 1) * targets - taken, k, sizes)
        taken += counts[epoch]
    return counts


class Deck:
    """The rows of one cluster: drawn without replacement until all are, then shuffled again.

    Rows that are not `readable`, (m,), are passed over, so that the others keep their order.
    """

    def __init__(self, readable: npt.NDArray[np.bool_], rng: np.random.Generator) -> None:
        self.readable = readable
        self.rng = rng
        self.left = self._shuffled()

    def draw(self, count: int) -> Integers:
        """Return `count` different rows; at most as many as the cluster has."""
        drawn, self.left = self.left[:count], self.left[count:]
        if len(drawn) < count:
            fresh = self._shuffled()
            again = np.isin(fresh, drawn)
            # Rows that were just drawn come last in the next round.
            self.left = np.concatenate([fresh[~again], fresh[again]])
            rest, self.left = np.split(self.left, [count - len(drawn)])
            drawn = np.concatenate([drawn, rest])
        return drawn

    def _shuffled(self) -> Integers:
        rows = self.rng.permutation(len(self.readable))
        return rows[self.readable[rows]]
