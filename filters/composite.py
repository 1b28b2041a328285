"""Filters made of filters: threshold, cascade, intersection, union, weighted sum of ranks."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from benchmark.core.errors import UserError
from filters.base import Composite, Filter, Scores


def rank_share(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return each score's rank as a share in (0, 1]; ties share their mean rank, NaN stays NaN."""
    ranks = np.full(scores.shape, np.nan)
    valid = ~np.isnan(scores)
    if valid.any():
        ranks[valid] = rankdata(scores[valid]) / valid.sum()
    return ranks


class Threshold(Composite):
    """Keep the scores of one filter where they reach `minimum`; the rest is never chosen."""

    def __init__(self, filter: Filter, minimum: float) -> None:  # noqa: A002  the config's word
        super().__init__({"filter": filter})
        self.minimum = minimum

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Scores of shape (1, n) to (n,)."""
        return np.where(scores[0] >= self.minimum, scores[0], np.float32(np.nan))


class Cascade(Composite):
    """Rank by the last filter what every filter before it lets through (ICC on CLIP >= 0.3)."""

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Scores of shape (filters, n) to (n,)."""
        return np.where(np.isnan(scores[:-1]).any(axis=0), np.float32(np.nan), scores[-1])


class Intersect(Composite):
    """Keep what all filters rank high: the least of a sample's ranks.

    The k best are the intersection of the filters' top-t sets at the smallest t whose intersection holds k.
    """

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Scores of shape (filters, n) to (n,)."""
        return np.asarray(np.minimum.reduce([rank_share(s) for s in scores]), np.float32)


class Union(Composite):
    """Keep what any filter ranks high: the greatest of a sample's ranks."""

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Scores of shape (filters, n) to (n,)."""
        return np.asarray(np.fmax.reduce([rank_share(s) for s in scores]), np.float32)


class RankSum(Composite):
    """Weighted sum of the filters' ranks, so that scores on different scales can be added."""

    def __init__(self, filters: Mapping[str, Filter], weights: Mapping[str, float]) -> None:
        if set(filters) != set(weights):
            raise UserError(
                f"rank_sum weighs {', '.join(weights)} but has the filters {', '.join(filters)}; give each one weight"
            )
        super().__init__(filters)
        self.weights = [float(weights[name]) for name in self.filters]

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Scores of shape (filters, n) to (n,)."""
        ranks = np.stack([rank_share(s) for s in scores])
        return np.asarray(np.asarray(self.weights) @ ranks, np.float32)
