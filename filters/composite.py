"""Filters made of filters: bounds, cascade, intersection, union, weighted sum of ranks."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmark.core.bounds import Bounds
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.ranks import Columns, Combine, Keep, PoolScores, ScoreCounts, rank_fraction, sort_scores
from benchmark.core.ties import HighestHashes, LastTie
from benchmark.core.uids import UidArray
from filters.base import Composite, Filter, Scores


class OverPool(Composite):
    """A composite that needs all scores of the pool to combine the scores of some pairs."""

    @abstractmethod
    def over(self, pool: PoolScores) -> Combine:
        """Return the function that combines any pairs of the pool, as `combine` does."""

    def combine(self, scores: Columns, uids: UidArray) -> Scores:
        """Return scores of shape (n,) from each filter's scores, (n,), if these pairs are the whole pool."""
        return self.over(PoolScores.of(scores, uids))(scores, uids)


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


@dataclass(frozen=True)
class Cut:
    """The pairs that a filter of a cascade keeps: scores above `minimum`, equal scores if `last` keeps them."""

    minimum: float
    last: LastTie | None = None

    def keeps(self, scores: Scores, uids: UidArray) -> npt.NDArray[np.bool_]:
        """Return whether each of n pairs is kept, shape (n,); never for NaN."""
        kept = scores >= self.minimum
        if self.last is not None:
            tied = np.flatnonzero(scores == self.minimum)
            kept[tied] = self.last.keeps(uids[tied])
        return kept


def _keep(cuts: Sequence[Cut], scores: Columns, uids: UidArray) -> npt.NDArray[np.bool_]:
    """Return whether each of n pairs is kept by the filters that have a cut, shape (n,)."""
    kept = np.ones(len(uids), bool)
    for cut, column in zip(cuts, scores, strict=False):
        kept &= cut.keeps(column, uids)
    return kept


class Cascade(OverPool):
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

    def survivors(self, pool: PoolScores) -> Keep:
        """Return the function that says which of n pairs are kept by the first filters, whose scores `pool` has."""
        cuts: list[Cut] = []
        for number, name in enumerate(list(self.filters)[: len(pool.dtypes)]):
            cuts.append(self._cut(pool, number, self.keep.get(name), partial(_keep, tuple(cuts))))
        return partial(_keep, cuts)

    def _cut(self, pool: PoolScores, number: int, keep: Fraction | float | None, left: Keep) -> Cut:
        """Return which of the pairs `left` by the filters before it a filter keeps."""
        if not isinstance(keep, Fraction):
            return Cut(-np.inf if keep is None else keep)
        counts = ScoreCounts(partial(pool.column, number, left), pool.dtypes[number])
        count = round(keep.value * counts.scored)
        if not count:
            return Cut(np.nan)
        threshold = counts.kth_highest(count)
        of_tied = count - threshold.above
        if of_tied == threshold.tied:
            return Cut(threshold.score)
        tied = HighestHashes(of_tied, self.seed or 0)
        for scores, uids in pool.blocks():
            rows = np.flatnonzero((scores[number] == threshold.score) & left(scores, uids))
            tied.add(uids[rows])
        return Cut(threshold.score, tied.last())

    def over(self, pool: PoolScores) -> Combine:
        """Return the function that gives the last filter's scores of the pairs that the others keep."""
        earlier = PoolScores(pool.blocks, pool.dtypes[:-1], pool.folder)
        keep = self.survivors(earlier)
        return lambda scores, uids: np.where(keep(scores, uids), scores[-1], np.float32(np.nan))


class Ranked(OverPool):
    """Combines ranks, which depend on the rest of the pool, in float64: float32 cannot distinguish 2^24 of them."""

    @property
    def corpus_dependent(self) -> bool:
        """Always: a rank is a place among the others."""
        return True

    @abstractmethod
    def combine_ranks(self, ranks: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return scores of shape (n,) from the ranks by each filter, (n,), see `rank_fraction`."""

    def over(self, pool: PoolScores) -> Combine:
        """Return the function that combines the ranks of scores in the pool."""
        ordered = [
            sort_scores(partial(pool.column, number), dtype, pool.folder)
            for number, dtype in enumerate(pool.dtypes)
        ]
        return lambda scores, uids: self.combine_ranks(list(map(rank_fraction, scores, ordered)))


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
        if set(filters) != set(weights):
            raise UserError(
                f"filter.weights names {', '.join(weights)}, filter.filters {', '.join(filters)}; both must"
                " name the same parts, one weight per filter"
            )
        super().__init__(filters)
        self.weights = [float(weights[name]) for name in self.filters]

    def combine_ranks(self, ranks: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        """Return the weighted sum of the ranks of each of n pairs, (n,), from its ranks by each filter, (n,)."""
        # Not a product of matrices: BLAS adds up in another order if a pair is among the last of a block.
        return np.asarray(np.add.reduce([w * of for w, of in zip(self.weights, ranks, strict=True)]))
