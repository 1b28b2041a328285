"""Filters made of filters: bounds, cascade, intersection, union, weighted sums of ranks and of scores."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.bounds import Bounds
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ties import highest
from benchmark.core.uids import UidArray
from filters.base import Composite, Filter, Scores, standardize

Columns = Sequence[Scores]


@dataclass(frozen=True)
class Fraction:
    """A fraction of the pairs, from 0 to 1."""

    value: float


def _fraction_or_minimum(name: str, value: float | str) -> Fraction | float:
    """Return the value of ``filter.keep.<name>``: a percentage as a `Fraction`, or a number as the minimum."""
    try:
        if not isinstance(value, str):
            return float(value)
        fraction = float(value.removesuffix("%")) / 100
        if value.endswith("%") and 0 < fraction <= 1:
            return Fraction(fraction)
    except (TypeError, ValueError):
        pass
    raise UserError(
        f"filter.keep.{name}={value} must be the lowest score to keep, such as 0.3, or a fraction of the"
        " pairs, such as 30%"
    )


class Bounded(Composite):
    """A part of a composite within its bounds: its scores as a selection by this part alone would see them.

    Args:
        filters: the part, by any name.
        minimum, maximum, rank, low_is_good: its `Bounds`.
    """

    def __init__(
        self,
        filters: Mapping[str, Filter],
        minimum: float | None = None,
        maximum: float | None = None,
        rank: bool = True,
        low_is_good: bool = False,
    ) -> None:
        super().__init__(filters)
        self.bounds = Bounds(minimum, maximum, rank, low_is_good)

    def take_names(self, choices: Mapping[str, str], group: str = "filter") -> None:
        """Take the name of the part."""
        super().take_names(choices, group)
        for part in self.filters.values():
            part.take_names(choices, group)

    def combine(self, scores: Columns, uids: UidArray) -> Scores:
        """Return scores of shape (n,) from the part's scores, (n,)."""
        return self.bounds.apply(scores[0])


class Cascade(Composite):
    """Rank what all other filters keep, one after the other, by the last one (ICC on CLIP >= 0.3).

    A filter with corpus statistics (`fit`, ranks) computes them of the pairs that the filters before it keep.

    Args:
        filters: the filters by their names, in order.
        keep: what a filter keeps, by its name: pairs with at least that score, or a fraction of the pairs that reach
            it and have a score, such as ``30%``: the highest, exactly that fraction of them. A filter that is not
            named, or with None, keeps all pairs with a score.
        seed: random seed of the order of equal scores at the end of a fraction, see `highest`.
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
        self.keep = {name: _fraction_or_minimum(name, value) for name, value in given.items()}
        for name, cut in self.keep.items():
            part = self.filters[name]
            if isinstance(part, Bounded) and not part.bounds.rank and isinstance(cut, float) and cut > 1:
                raise UserError(
                    f"filter.keep.{name}={cut:g} keeps none: what passes filter.filters.{name} scores 1; write"
                    f" filter.keep.{name}=null filter.filters.{name}.minimum={cut:g}"
                )
        # Without a fraction no tie is broken: scores are the same for all seeds.
        self.seed = seed if any(isinstance(value, Fraction) for value in self.keep.values()) else None

    @property
    def corpus_dependent(self) -> bool:
        """Whether a part depends on the rest of the pool, or it keeps a fraction."""
        return self.seed is not None or super().corpus_dependent

    def survivors(self, scores: Columns, uids: UidArray) -> npt.NDArray[np.bool_]:
        """Return which of a pool's n pairs the first filters keep, (n,), by the scores of each of these, (n,)."""
        kept = np.ones(len(uids), bool)
        for name, column in zip(self.filters, scores, strict=False):
            keep = self.keep.get(name)
            if isinstance(keep, Fraction):
                rows = np.flatnonzero(kept & ~np.isnan(column))
                count = round(keep.value * len(rows))
                kept[:] = False
                kept[rows[highest(column[rows], uids[rows], count, self.seed or 0)]] = True
            else:
                kept &= column >= (-np.inf if keep is None else keep)
        return kept

    def combine(self, scores: Columns, uids: UidArray) -> Scores:
        """Return the last filter's scores of the pairs that the others keep, (n,)."""
        return np.where(self.survivors(scores[:-1], uids), scores[-1], np.float32(np.nan))


class Ranked(Composite):
    """Combines ranks, which depend on the rest of the pool, in float64: float32 cannot distinguish 2^24 of them."""

    @property
    def corpus_dependent(self) -> bool:
        """Always: a rank is a place among the others."""
        return True

    @abstractmethod
    def combine_ranks(self, ranks: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return scores of shape (n,) from the ranks by each filter, (n,), see `rank_fraction`."""

    def combine(self, scores: Columns, uids: UidArray) -> Scores:
        """Return scores of shape (n,) from the scores of the whole pool by each filter, (n,)."""
        return self.combine_ranks(list(map(rank_fraction, scores)))


def rank_fraction(scores: Scores) -> npt.NDArray[np.float64]:
    """Return each score's rank among those that are not NaN, divided by their number: in (0, 1], shape (n,).

    Ties share their mean rank, NaN stays.
    """
    ranks, valid = np.full(len(scores), np.nan), np.flatnonzero(~np.isnan(scores))
    order = valid[np.argsort(scores[valid])]
    ordered = scores[order]
    starts, ends = (np.searchsorted(ordered, ordered, side) for side in ("left", "right"))
    ranks[order] = (starts + ends + 1) / 2 / len(valid)
    return ranks


class Intersect(Ranked):
    """Keep what all filters rank high: the score is the lowest of a sample's ranks.

    The top k are the intersection of the filters' top-t sets, for the smallest t whose intersection has k samples.
    """

    def combine_ranks(self, ranks: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return the lowest rank of each of n pairs, (n,), from its ranks by each filter, (n,)."""
        return np.asarray(np.minimum.reduce(ranks))


class Union(Ranked):
    """Keep what any filter ranks high: the score is the highest of a sample's ranks."""

    def combine_ranks(self, ranks: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return the highest rank of each of n pairs, (n,), from its ranks by each filter, (n,)."""
        return np.asarray(np.fmax.reduce(ranks))


class RankSum(Ranked):
    """Weighted sum of the filters' ranks, which makes scores on different scales comparable."""

    def __init__(self, filters: Mapping[str, Filter], weights: Mapping[str, float]) -> None:
        super().__init__(filters)
        self.weights = _of_parts("weights", weights, filters)

    def combine_ranks(self, ranks: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return the weighted sum of the ranks of each of n pairs, (n,), from its ranks by each filter, (n,)."""
        # Not a product of matrices: BLAS adds up in another order if a pair is among the last of a block.
        return np.asarray(np.add.reduce([w * of for w, of in zip(self.weights, ranks, strict=True)]))


class ScoreSum(Composite):
    """Weighted sum of standardised scores; a pair without one of the scores has none.

    Args:
        filters: the filters by their names.
        weights: the weight of each filter by its name.
        means, deviations: the mean and standard deviation that each filter's scores are standardised by, by its
            name. None for both: those of the pool's pairs with a score, see `standardize`.
    """

    def __init__(
        self,
        filters: Mapping[str, Filter],
        weights: Mapping[str, float],
        means: Mapping[str, float] | None = None,
        deviations: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(filters)
        self.weights = _of_parts("weights", weights, filters)
        if (means is None) != (deviations is None):
            raise UserError("filter.means and filter.deviations must both be given, or both be null")
        self.means = None if means is None else _of_parts("means", means, filters)
        self.deviations = None if deviations is None else _of_parts("deviations", deviations, filters)
        if self.deviations and min(self.deviations) <= 0:
            raise UserError("filter.deviations must be positive numbers")

    @property
    def corpus_dependent(self) -> bool:
        """Whether a part depends on the rest of the pool, or the means and deviations are not given."""
        return self.means is None or super().corpus_dependent

    def combine(self, scores: Columns, uids: UidArray) -> Scores:
        """Return the weighted sum of the standardised scores of each of n pairs, (n,)."""
        if self.means is None or self.deviations is None:
            columns = map(standardize, scores)
        else:
            columns = map(standardize, scores, self.means, self.deviations)
        return sum((w * of for w, of in zip(self.weights, columns, strict=True)), np.zeros(len(uids)))


def _of_parts(setting: str, numbers: Mapping[str, float], filters: Mapping[str, Filter]) -> list[float]:
    """Return a number per filter, in the order of the filters. Raises `UserError` for other names or other values."""
    if set(filters) != set(numbers):
        raise UserError(
            f"filter.{setting} names {', '.join(numbers)}, filter.filters {', '.join(filters)}; both must"
            " name the same parts, one number per filter"
        )
    try:
        values = [float(numbers[name]) for name in filters]
        if np.isfinite(values).all():
            return values
    except (TypeError, ValueError):
        pass
    raise UserError(f"filter.{setting}={dict(numbers)} must be finite numbers")
