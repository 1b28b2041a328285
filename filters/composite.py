"""Filters made of filters: threshold, cascade, intersection, union, weighted sum of ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ties import highest
from benchmark.core.uids import UidArray
from filters.base import Composite, Filter, Scores


def rank_share(scores: Scores) -> npt.NDArray[np.float64]:
    """Return each score's rank divided by the number of scores, in (0, 1]; ties share their mean rank, NaN stays."""
    ranks = np.full(scores.shape, np.nan)
    valid = np.flatnonzero(~np.isnan(scores))
    order = valid[np.argsort(scores[valid])]  # the order of ties does not matter: they get one rank
    ordered = scores[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(order) else order
    ends = np.append(starts[1:], len(order))
    ranks[order] = np.repeat((starts + ends + 1) / 2 / len(order), ends - starts)
    return ranks


@dataclass(frozen=True)
class Share:
    """A share of pairs, from 0 to 1."""

    share: float


def _share_or_minimum(name: str, value: float | str) -> Share | float:
    """Return the value of ``filter.keep.<name>``: a percentage as a `Share`, or a number as the minimum."""
    try:
        if not isinstance(value, str):
            return float(value)
        share = float(value.removesuffix("%")) / 100
        if value.endswith("%") and 0 < share <= 1:
            return Share(share)
    except (TypeError, ValueError):
        pass
    raise UserError(
        f"filter.keep.{name}={value} must be the lowest score to keep, such as 0.3, or a share of the pairs, such as"
        " 30%"
    )


class Threshold(Composite):
    """Keep the scores of one filter that are at least `minimum`; all other samples are never chosen."""

    def __init__(self, filter: Filter, minimum: float) -> None:  # noqa: A002  as in the configuration
        super().__init__({"filter": filter})
        self.minimum = minimum

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,) from those of the filter, (n,)."""
        return np.where(scores[0] >= self.minimum, scores[0], np.float32(np.nan))


class Cascade(Composite):
    """Rank what all other filters keep, one after the other, by the last one (ICC on CLIP >= 0.3).

    A filter with corpus statistics (`fit`, ranks) computes them of the pairs that the filters before it keep.

    Args:
        filters: the filters by their names, in order.
        keep: what a filter keeps, by its name: pairs with at least that score, or a share of the pairs that reach it
            and have a score, such as ``30%``: the highest, exactly that share of their number. A filter that is not
            named, or with None, keeps all pairs with a score.
        seed: random seed of the order of equal scores at the end of a share, see `highest`.
    """

    def __init__(
        self,
        filters: Mapping[str, Filter],
        keep: Mapping[str, float | str | None] | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(filters)
        given = {name: value for name, value in (keep or {}).items() if value is not None}
        *earlier, _ = self.filters
        for name in given:
            if name not in earlier:
                raise UserError(
                    f"filter.keep.{name} must name a filter before the last, which ranks what is left;"
                    f" {did_you_mean(name, earlier)}"
                )
        self.keep = {name: _share_or_minimum(name, value) for name, value in given.items()}
        # Without a share no tie is broken: scores are the same for all seeds.
        self.seed = seed if any(isinstance(value, Share) for value in self.keep.values()) else None

    @property
    def corpus_dependent(self) -> bool:
        """Whether a part depends on the rest of the pool, or a share is one of it."""
        return self.seed is not None or super().corpus_dependent

    def survivors(self, scores: Sequence[Scores], uids: UidArray) -> npt.NDArray[np.bool_]:
        """Return which of n pairs the first filters keep, from the scores (n,) of each of them; shape (n,)."""
        rows = np.arange(len(uids))
        for name, column in zip(self.filters, scores, strict=False):
            rows = rows[~np.isnan(column[rows])]
            keep = self.keep.get(name)
            if isinstance(keep, Share):
                count = round(keep.share * len(rows))
                rows = rows[highest(column[rows], uids[rows], count, self.seed or 0)]
            elif keep is not None:
                rows = rows[column[rows] >= keep]
        kept = np.zeros(len(uids), bool)
        kept[rows] = True
        return kept

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return the last filter's scores of the pairs that the others keep, (n,), from each filter's (n,)."""
        return np.where(self.survivors(scores[:-1], uids), scores[-1], np.float32(np.nan))


class Ranked(Composite):
    """Combines ranks, which depend on the rest of the pool, in float64: float32 cannot tell 2^24 of them apart."""

    @property
    def corpus_dependent(self) -> bool:
        """Always: a rank is a place among the others."""
        return True


class Intersect(Ranked):
    """Keep what all filters rank high: the score is the lowest of a sample's ranks.

    The top k are the intersection of the filters' top-t sets, for the smallest t whose intersection has k samples.
    """

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,) from those of each filter, (n,)."""
        return np.asarray(np.minimum.reduce([rank_share(s) for s in scores]))


class Union(Ranked):
    """Keep what any filter ranks high: the score is the highest of a sample's ranks."""

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,) from those of each filter, (n,)."""
        return np.asarray(np.fmax.reduce([rank_share(s) for s in scores]))


class RankSum(Ranked):
    """Weighted sum of the filters' ranks, which makes scores on different scales comparable."""

    def __init__(self, filters: Mapping[str, Filter], weights: Mapping[str, float]) -> None:
        if set(filters) != set(weights):
            raise UserError(
                f"filter.weights names {', '.join(weights)}, filter.filters {', '.join(filters)}; both must"
                " name the same parts, one weight per filter"
            )
        super().__init__(filters)
        self.weights = [float(weights[name]) for name in self.filters]

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,) from those of each filter, (n,)."""
        ranks = np.stack([rank_share(s) for s in scores])
        return np.asarray(np.asarray(self.weights) @ ranks)
