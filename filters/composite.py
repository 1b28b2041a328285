"""Filters made of filters: threshold, cascade, intersection, union, weighted sum of ranks."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from benchmark.core.errors import UserError
from filters.base import Composite, Filter, Scores


def rank_share(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return each score's rank divided by the number of scores, in (0, 1]; ties share their mean rank, NaN stays."""
    ranks = np.full(scores.shape, np.nan)
    valid = ~np.isnan(scores)
    if valid.any():
        ranks[valid] = rankdata(scores[valid]) / valid.sum()
    return ranks


class Threshold(Composite):
    """Keep the scores of one filter that are at least `minimum`; all other samples are never chosen."""

    def __init__(self, filter: Filter, minimum: float) -> None:  # noqa: A002  as in the configuration
        super().__init__({"filter": filter})
        self.minimum = minimum

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Return scores of shape (n,) from scores of shape (1, n)."""
        return np.where(scores[0] >= self.minimum, scores[0], np.float32(np.nan))


class Cascade(Composite):
    """Rank the samples that pass all other filters by the last one (ICC on CLIP >= 0.3)."""

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Return scores of shape (n,) from scores of shape (filters, n)."""
        return np.where(np.isnan(scores[:-1]).any(axis=0), np.float32(np.nan), scores[-1])


class Intersect(Composite):
    """Keep what all filters rank high: the score is the lowest of a sample's ranks.

    The top k are the intersection of the filters' top-t sets, for the smallest t whose intersection has k samples.
    """

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Return scores of shape (n,) from scores of shape (filters, n)."""
        return np.asarray(np.minimum.reduce([rank_share(s) for s in scores]), np.float32)


class Union(Composite):
    """Keep what any filter ranks high: the score is the highest of a sample's ranks."""

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Return scores of shape (n,) from scores of shape (filters, n)."""
        return np.asarray(np.fmax.reduce([rank_share(s) for s in scores]), np.float32)


class RankSum(Composite):
    """Weighted sum of the filters' ranks, which makes scores on different scales comparable."""

    def __init__(self, filters: Mapping[str, Filter], weights: Mapping[str, float]) -> None:
        if set(filters) != set(weights):
            raise UserError(
                f"filter.weights names {', '.join(weights)}, filter.filters {', '.join(filters)}; both must"
                " name the same parts, one weight per filter"
            )
        super().__init__(filters)
        self.weights = [float(weights[name]) for name in self.filters]

    def combine(self, scores: npt.NDArray[np.float32]) -> Scores:
        """Return scores of shape (n,) from scores of shape (filters, n)."""
        ranks = np.stack([rank_share(s) for s in scores])
        return np.asarray(np.asarray(self.weights) @ ranks, np.float32)
