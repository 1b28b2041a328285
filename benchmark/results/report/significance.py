"""How sure a comparison of filters is: intervals over evaluation images and over seeds, and paired tests.

An interval over images says how far a metric may be off because these images were drawn; one over seeds, because
these seeds were. A filter is better than another only where both differences are significant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from downstream.metrics.corpus_scores import Doubles
from downstream.metrics.intervals import LEVEL

MIN_SEEDS = 3  # fewer say nothing of other seeds
Interval = tuple[float, float]
Signs = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Estimate:
    """The metric of one filter.

    Args:
        mean: mean over its runs.
        runs: how many runs, each with another seed.
        over_images: 95% bootstrap interval over evaluation images; None without scores of single images.
        over_seeds: 95% t-interval over seeds; None for fewer than `MIN_SEEDS`.
    """

    mean: float
    runs: int
    over_images: Interval | None
    over_seeds: Interval | None

    @property
    def interval(self) -> Interval | None:
        """The interval over seeds, or over images if there are too few seeds."""
        return self.over_seeds or self.over_images


@dataclass(frozen=True)
class Comparison:
    """n filters compared by one metric.

    Args:
        estimates: one per filter.
        over_images: 1 if the filter of the row is better than the filter of the column by a paired test over images,
            -1 if it is worse, 0 if the test does not tell, (n, n). All pairs are tested, with Holm's correction.
        over_seeds: the same by the 95% interval of Welch's t-test over seeds, (n, n).
        seeds_known: whether both have enough seeds for it, (n, n).
        higher_is_better: whether a higher value of the metric is better.
    """

    estimates: list[Estimate]
    over_images: Signs
    over_seeds: Signs
    seeds_known: npt.NDArray[np.bool_]
    higher_is_better: bool = True

    def better(self, one: int, other: int) -> bool:
        """Whether filter `one` is better than `other` over images and over seeds."""
        return bool(self.over_images[one, other] == 1 and self.over_seeds[one, other] == 1)

    def above(self, one: int, other: int) -> bool:
        """Whether filter `one` is better than `other` over images, and over seeds if there are enough of them."""
        seeds_agree = not self.seeds_known[one, other] or self.over_seeds[one, other] == 1
        return bool(self.over_images[one, other] == 1 and seeds_agree)

    def ranks(self, one: int, competing: Sequence[int]) -> tuple[int, int]:
        """Return the highest and the lowest rank that filter `one` may have among `competing` filters."""
        others = [other for other in competing if other != one]
        above = sum(self.above(other, one) for other in others)
        below = sum(self.above(one, other) for other in others)
        return 1 + above, 1 + len(others) - below

    def verdict(self, one: int, other: int) -> str:
        """Say in a word or two whether filter `one` is better than `other`."""
        better, worse = ("above", "below") if self.higher_is_better else ("below", "above")
        few = "{}, too few seeds to tell"
        known = bool(self.seeds_known[one, other])
        if self.above(one, other):
            return "better" if known else few.format(better)
        if self.above(other, one):
            return "worse" if known else few.format(worse)
        return "not better"


def compare(
    values: Sequence[Sequence[float]], resampled: Sequence[Doubles | None], higher_is_better: bool = True
) -> Comparison:
    """Compare n filters.

    Args:
        values: the metric of each run of each filter; at least one each.
        resampled: by filter the mean of its runs on resampled images, (b,), the same images for all filters; None
            if it is not known.
        higher_is_better: whether a higher value of the metric is better.
    """
    sign = 1 if higher_is_better else -1
    known = [index for index, of in enumerate(values) if len(of) >= MIN_SEEDS]
    seeds_known = np.zeros((len(values), len(values)), bool)
    seeds_known[np.ix_(known, known)] = True
    over_seeds = np.zeros_like(seeds_known, np.int8)
    if len(known) > 1:
        over_seeds[np.ix_(known, known)] = sign * _signs_over_seeds([values[index] for index in known])
    estimates = [
        Estimate(float(np.mean(of)), len(of), _percentiles(images), t_interval(of))
        for of, images in zip(values, resampled, strict=True)
    ]
    over_images = sign * _signs_over_images([estimate.mean for estimate in estimates], resampled)
    return Comparison(estimates, over_images, over_seeds, seeds_known, higher_is_better)


def t_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95% t-interval of the mean of runs with different seeds; None for fewer than `MIN_SEEDS`."""
    if len(values) < MIN_SEEDS:
        return None
    if len(set(values)) == 1:
        return values[0], values[0]
    from scipy.special import stdtrit  # its import takes longer than numpy's, that of scipy.stats a second

    count = len(values)
    mean, error = np.mean(values), np.sqrt(np.var(values) * (count / (count - 1)) / count)
    tail = (1 - LEVEL) / 2
    low, high = (float(stdtrit(count - 1, p) * error + mean) for p in (tail, 1 - tail))
    return low, high


def _percentiles(resampled: Doubles | None) -> Interval | None:
    if resampled is None:
        return None
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _signs_over_seeds(values: Sequence[Sequence[float]]) -> Signs:
    """Return 1 or -1 if the 95% interval of Welch's t-test of two filters excludes 0, else 0."""
    from scipy.special import stdtrit

    runs = np.array([len(of) for of in values], float)
    means = np.array([np.mean(of) for of in values])
    errors = np.array([np.var(of, ddof=1) for of in values]) / runs  # squared standard errors of the means
    error = errors[:, None] + errors[None, :]
    squares = errors**2 / (runs - 1)
    freedom = np.divide(
        error**2, squares[:, None] + squares[None, :], out=np.ones_like(error), where=error > 0
    )
    half = stdtrit(freedom, (1 + LEVEL) / 2) * np.sqrt(error)
    difference = means[:, None] - means[None, :]
    return np.asarray(np.sign(difference) * (np.abs(difference) > half), np.int8)


def _signs_over_images(means: Sequence[float], resampled: Sequence[Doubles | None]) -> Signs:
    """Test the difference of every two filters, paired by images, by its bootstrap standard error."""
    signs = np.zeros((len(means), len(means)), np.int8)
    rows = [index for index, values in enumerate(resampled) if values is not None]
    pairs = list(combinations(range(len(rows)), 2))
    if not pairs:
        return signs
    from scipy.special import ndtr

    covariance = np.cov(np.stack([values for values in resampled if values is not None]))
    one, other = np.array(pairs).T
    variance = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
    difference = np.array(means)[rows][one] - np.array(means)[rows][other]
    error = np.sqrt(np.maximum(variance, 0))
    z = np.divide(difference, error, out=np.where(difference == 0, 0, np.inf), where=error > 0)
    significant = holm(2 * ndtr(-np.abs(z)))
    found = np.where(significant, np.sign(difference), 0)
    signs[np.array(rows)[one], np.array(rows)[other]] = found
    signs[np.array(rows)[other], np.array(rows)[one]] = -found
    return signs


def holm(p_values: Doubles, level: float = 1 - LEVEL) -> npt.NDArray[np.bool_]:
    """Return which of m hypotheses are rejected, (m,), so that a false one is among them with `level` (Holm 1979)."""
    order = np.argsort(p_values)
    small = p_values[order] <= level / np.arange(len(p_values), 0, -1)
    rejected = np.zeros(len(p_values), bool)
    rejected[order[: len(small) if small.all() else int(np.argmin(small))]] = True
    return rejected
