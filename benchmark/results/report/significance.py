"""How sure a comparison of filters is: one test, with the noise of training and of evaluation images.

Another seed would change a metric, and so would other evaluation images. The variance over seeds is pooled over all
filters with `MIN_SEEDS` runs or more, and holds for filters with fewer runs too; the variance over images is that of
a bootstrap. They are added on the scale of the metric itself, on which the filters' spreads over seeds are alike.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from downstream.metrics.corpus_scores import Doubles
from downstream.metrics.intervals import LEVEL

MIN_SEEDS = 3  # of a filter whose spread counts
OVER_IMAGES, OVER_SEEDS = "over images", "over seeds"  # intervals that lack the other noise
Interval = tuple[float, float]
NO_LIMITS = -math.inf, math.inf


@dataclass(frozen=True)
class Estimate:
    """The metric of one filter."""

    mean: float  # mean over its runs
    runs: int  # how many runs, each with another seed
    interval: Interval | None  # 95% interval; None if the noise is not known
    noise: str = ""  # empty if the interval has both kinds of noise, else `OVER_IMAGES` or `OVER_SEEDS`


@dataclass(frozen=True)
class Comparison:
    """n filters compared by one metric."""

    estimates: list[Estimate]  # one per filter
    # P value of the difference of every two filters, as if they were the only two, (n, n); NaN for a pair that cannot
    # be tested because one of its noises is not known.
    single: Doubles
    p_values: Doubles  # the same with Holm's correction for all pairs that can be tested, (n, n)
    higher_is_better: bool = True  # whether a higher value is better

    @property
    def pairs(self) -> int:
        """The number of pairs that were tested: the family of the correction."""
        return int(np.isfinite(self.p_values).sum()) // 2

    def better(self, one: int, other: int) -> bool:
        """Whether filter `one` is better than `other`."""
        difference = self.estimates[one].mean - self.estimates[other].mean
        higher = difference > 0 if self.higher_is_better else difference < 0
        return bool(higher and self.p_values[one, other] <= 1 - LEVEL)

    def ranks(self, one: int, competing: Sequence[int]) -> tuple[int, int]:
        """Return the highest and the lowest rank that filter `one` may have among `competing` filters."""
        others = [other for other in competing if other != one]
        above = sum(self.better(other, one) for other in others)
        below = sum(self.better(one, other) for other in others)
        return 1 + above, 1 + len(others) - below

    def verdict(self, one: int, other: int) -> str:
        """Say in a word or two whether filter `one` is better than `other`, with the corrected p value."""
        p = self.p_values[one, other]
        if math.isnan(p):
            return "not tested"
        found = "better" if self.better(one, other) else "worse" if self.better(other, one) else "not shown"
        return f"{found} ({p_text(p)})"


def p_text(p: float) -> str:
    """Return a p value as tables show it."""
    return "p < .001" if p < 0.001 else f"p {p:.3f}".replace("0.", ".")


def compare(
    values: Sequence[Sequence[float]],
    resampled: Sequence[Doubles | None],
    *,
    protocols: Sequence[Hashable] = (),
    higher_is_better: bool = True,
    limits: Interval = NO_LIMITS,
) -> Comparison:
    """Compare n filters by a metric.

    Args:
        values: the metric of each run of each filter; at least one each.
        resampled: by filter the mean of its runs on resampled images, (b,), the same images for all filters; None
            if it is not known.
        protocols: of each filter what the spread over seeds may depend on, such as its size; all alike by default.
        limits: the lowest and the highest value that the metric can have; intervals are cut there.
    """
    protocols = protocols or [None] * len(values)
    pooled = {
        p: _pooled([of for of, own in zip(values, protocols, strict=True) if own == p]) for p in {*protocols}
    }
    of_run, freedom = np.array([pooled[p] for p in protocols], float).reshape(-1, 2).T
    means = np.array([np.mean(of) for of in values])
    over_seeds = of_run / np.array([len(of) for of in values])  # NaN if unknown, as over_images
    over_images = _covariance(resampled)
    estimates = _estimates(values, over_seeds, np.diag(over_images), freedom, limits)
    single = _p_values(means, over_seeds, over_images, freedom)
    return Comparison(estimates, single, _corrected(single), higher_is_better)


def _pooled(values: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the variance over seeds, pooled over filters with enough runs, and its degrees of freedom; NaN, inf."""
    enough = [of for of in values if len(of) >= MIN_SEEDS]
    freedom = sum(len(of) - 1 for of in enough)
    squares = sum(float(np.var(of)) * len(of) for of in enough)
    return (squares / freedom, freedom) if enough else (math.nan, math.inf)


def _covariance(resampled: Sequence[Doubles | None]) -> Doubles:
    """Return the covariance of every two filters over resampled images, (n, n); NaN if unknown."""
    covariance = np.full((len(resampled), len(resampled)), math.nan)
    rows = [index for index, values in enumerate(resampled) if values is not None]
    if rows:
        known = np.stack([values for values in resampled if values is not None])
        covariance[np.ix_(rows, rows)] = np.cov(known)
    return covariance


def _estimates(
    values: Sequence[Sequence[float]],
    over_seeds: Doubles,
    over_images: Doubles,
    freedom: Doubles,
    limits: Interval,
) -> list[Estimate]:
    """Return means with intervals of both noises; of a noise that no filter's is known of, the other one's."""
    from scipy.special import stdtrit  # its import takes longer than numpy's, that of scipy.stats a second

    images_known = bool(np.isfinite(over_images).any())
    estimates = []
    for of, seeds, images, nu in zip(values, over_seeds, over_images, freedom, strict=True):
        noise = OVER_IMAGES if math.isnan(seeds) else "" if images_known else OVER_SEEDS
        variance = {OVER_IMAGES: images, OVER_SEEDS: seeds, "": seeds + images}[noise]
        mean, interval = float(np.mean(of)), None
        if math.isfinite(variance):
            half = float(stdtrit(min(nu, 1e9), (1 + LEVEL) / 2) * math.sqrt(variance))
            interval = max(mean - half, min(limits[0], mean)), min(mean + half, max(limits[1], mean))
        estimates.append(Estimate(mean, len(of), interval, noise if interval else ""))
    return estimates


def _p_values(means: Doubles, over_seeds: Doubles, over_images: Doubles, freedom: Doubles) -> Doubles:
    """Test the difference of every two filters, paired by images, with the degrees of freedom of the seeds."""
    from scipy.special import stdtr

    variances = np.diag(over_images)
    paired = variances[:, None] + variances[None, :] - 2 * over_images
    error = np.sqrt(np.maximum(paired, 0) + over_seeds[:, None] + over_seeds[None, :])
    difference = np.abs(means[:, None] - means[None, :])
    t = np.divide(difference, error, out=np.where(difference == 0, 0, np.inf), where=error != 0)
    fewer = np.minimum(np.minimum(freedom[:, None], freedom[None, :]), 1e9)
    return np.asarray(np.where(np.isnan(error), math.nan, 2 * stdtr(fewer, -t)))


def _corrected(single: Doubles) -> Doubles:
    """Return p values with Holm's correction for every pair of filters once; NaN on the diagonal."""
    corrected = np.full_like(single, math.nan)
    one, other = np.triu_indices(len(single), 1)
    tested = np.isfinite(single[one, other])
    one, other = one[tested], other[tested]
    corrected[one, other] = corrected[other, one] = holm(single[one, other])
    return corrected


def holm(p_values: Doubles) -> Doubles:
    """Return the p values of m hypotheses, (m,), corrected for the chance of any error among them (Holm 1979)."""
    order = np.argsort(p_values)
    ordered = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    corrected = np.empty_like(p_values)
    corrected[order] = np.minimum(ordered, 1)
    return corrected
