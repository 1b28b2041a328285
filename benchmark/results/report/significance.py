"""How sure a comparison of filters is: one test, with the noise of training and of evaluation images.

A metric of a filter varies with the images, with training noise that is independent between images, and with training
noise that all images share. The variance over images holds the first two, divided by the number of images; the
variance over seeds holds the last two. `docs/report.md` derives how they are added without counting one twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from downstream.metrics.corpus_scores import Doubles
from downstream.metrics.intervals import LEVEL

LIKE = 3.0  # filters are alike if their errors over images differ by at most this factor
FEW = 4  # degrees of freedom over seeds below which Satterthwaite's approximation finds too much (9% at 2)
OVER_IMAGES, OVER_SEEDS = "over images", "over seeds"  # intervals that lack the other noise
Interval = tuple[float, float]
Indices = npt.NDArray[np.int_]
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
    covariance: Doubles  # of the means over images, (n, n); NaN if unknown
    images: int
    training: "TrainingNoise"
    higher_is_better: bool  # whether a higher value is better

    @cached_property
    def p_values(self) -> Doubles:
        """The p value of the difference of every two filters, (n, n).

        It is corrected for all pairs by the studentised range (Tukey 1953). NaN for a pair that cannot be tested
        because one of its noises is not known.
        """
        pairs = np.triu_indices(len(self.estimates), 1)
        return _p_values(self.means, self.covariance, self.images, self.training, *pairs)

    @cached_property
    def over_images(self) -> Doubles:
        """The same, over images only; NaN unless no pair could be tested for want of several seeds."""
        if np.isfinite(self.p_values).any():
            return np.full_like(self.p_values, math.nan)
        none, pairs = np.zeros(len(self.estimates)), np.triu_indices(len(self.estimates), 1)
        noise = TrainingNoise(none, none, none + math.inf)
        return _p_values(self.means, self.covariance, self.images, noise, *pairs)

    def not_worse(self, best: int) -> set[int]:
        """Return filter `best` and all tested filters that are not shown to be worse."""
        one, other = np.full(len(self.estimates), best), np.arange(len(self.estimates))
        p_values = _p_values(self.means, self.covariance, self.images, self.training, one, other)[best]
        return {best, *np.flatnonzero(p_values > 1 - LEVEL)} if np.isfinite(p_values).any() else set()

    @property
    def means(self) -> Doubles:
        """The means of the filters, (n,)."""
        return np.array([estimate.mean for estimate in self.estimates])

    @property
    def pairs(self) -> int:
        """The number of pairs that were tested: the family of the correction."""
        return int(np.isfinite(self.p_values).sum()) // 2

    def better(self, one: int, other: int, *, over_images: bool = False) -> bool:
        """Whether filter `one` is better than `other`; over images only, the noise of training is not counted."""
        p_values = self.over_images if over_images else self.p_values
        difference = self.estimates[one].mean - self.estimates[other].mean
        higher = difference > 0 if self.higher_is_better else difference < 0
        return bool(higher and p_values[one, other] <= 1 - LEVEL)

    def ranks(self, one: int, competing: Sequence[int]) -> tuple[int, int]:
        """Return the highest and the lowest rank that filter `one` may have among `competing` filters."""
        others = [other for other in competing if other != one]
        above = sum(self.better(other, one) for other in others)
        below = sum(self.better(one, other) for other in others)
        return 1 + above, 1 + len(others) - below

    def verdict(self, one: int, other: int) -> str:
        """Say in a word or two whether filter `one` is better than `other`, with the corrected p value."""
        p = self.p_values[one, other]
        word = "better" if self.better(one, other) else "worse" if self.better(other, one) else "not shown"
        return "not tested" if math.isnan(p) else f"{word} ({p_text(p)})"


def p_text(p: float) -> str:
    """Return a p value as tables show it."""
    return "p < .001" if p < 0.001 else f"p {p:.3f}".replace("0.", ".")


def compare(
    values: Sequence[Sequence[float]],
    of_images: Sequence[Doubles | None],
    *,
    higher_is_better: bool = True,
    limits: Interval = NO_LIMITS,
) -> Comparison:
    """Compare n filters by a metric.

    Args:
        values: the metric of each run of each filter; at least one each.
        of_images: by filter what each image adds to the metric of each run, (runs, images), the same images for all
            filters; the mean over images is the metric less a constant. None if it is not known.
        limits: the lowest and the highest value that the metric can have; intervals are cut there.
    """
    known = [index for index, parts in enumerate(of_images) if parts is not None]
    parts = [parts for parts in of_images if parts is not None]
    images = parts[0].shape[1] if parts else 0
    covariance = np.full((len(values), len(values)), math.nan)
    of_run, independent = np.full(len(values), math.nan), np.zeros(len(values))
    if images > 1:
        covariance[np.ix_(known, known)] = np.cov([p.mean(axis=0) for p in parts]) / images
        of_run[known] = [p.var(axis=1, ddof=1).mean() / images for p in parts]
        # Sums of squares over seeds, as far as the noise of training is independent between images.
        independent[known] = [(p - p.mean(axis=0)).var(axis=1, ddof=1).sum() / images for p in parts]
    training = _training_noise(values, of_run, independent)
    estimates = _estimates(values, np.diag(covariance), images, training, limits)
    return Comparison(estimates, covariance, images, training, higher_is_better)


@dataclass(frozen=True)
class TrainingNoise:
    """The noise of training in the means of n filters, (n,) each; NaN if unknown."""

    variance: Doubles  # variance over seeds, divided by the number of runs
    independent: Doubles  # its part that is independent between images; 0 if too few filters are alike
    freedom: Doubles  # degrees of freedom of `variance`

    @property
    def shared(self) -> Doubles:
        """The part of `variance` that all images share."""
        return np.maximum(self.variance - self.independent, 0)


def _training_noise(
    values: Sequence[Sequence[float]], over_images: Doubles, independent: Doubles
) -> TrainingNoise:
    """Pool the variance over seeds over filters that are alike in their variance over images.

    A filter at the floor of the metric has little noise of either kind, and says nothing about filters above it. If
    too few filters are alike, noisier filters count too, and their whole variance is taken.
    """
    runs = np.array([len(of) for of in values])
    squares = np.array([np.var(of) * len(of) for of in values])
    own, other = over_images[:, None], over_images[None, :]  # a comparison with an unknown variance is False
    noisier = ~(LIKE**2 * other < own)
    alike = noisier & ~(other > LIKE**2 * own)
    enough = alike @ (runs - 1) >= FEW
    pooled = np.where(enough[:, None], alike, noisier).astype(float)
    freedom = pooled @ (runs - 1.0)
    freedom[freedom == 0] = math.nan
    variance = pooled @ squares / freedom
    of_images = np.where(enough, pooled @ independent / freedom, 0)
    return TrainingNoise(variance / runs, of_images / runs, freedom)


def _freedom(total: Doubles, over_images: Doubles, images: int, over_seeds: Doubles, few: Doubles) -> Doubles:
    """Return the degrees of freedom of variances `total` (Satterthwaite 1946), (m,); `few` if these are below `FEW`.

    Args:
        over_images: the part over images, which has images - 1 degrees.
        over_seeds: the part over seeds, divided by the square root of its degrees of freedom.
    """
    parts = over_images**2 / max(images - 1, 1) + over_seeds**2
    degrees = np.divide(total**2, parts, out=np.ones_like(parts), where=parts != 0)
    return np.where(few < FEW, few, degrees)


def _estimates(
    values: Sequence[Sequence[float]],
    over_images: Doubles,
    images: int,
    training: TrainingNoise,
    limits: Interval,
) -> list[Estimate]:
    """Return means with intervals of both noises; of a noise that no filter's is known of, the other one's."""
    from scipy.special import stdtrit  # its import takes longer than numpy's, that of scipy.stats a second

    over_seeds = training.variance / np.sqrt(training.freedom)
    both = _freedom(over_images + training.shared, over_images, images, over_seeds, training.freedom)
    estimates = []
    for index, of in enumerate(values):
        if math.isnan(training.variance[index]):
            noise, variance, freedom = OVER_IMAGES, over_images[index], images - 1.0
        elif np.isnan(over_images).all():
            noise, variance, freedom = OVER_SEEDS, training.variance[index], training.freedom[index]
        else:
            noise, variance, freedom = "", over_images[index] + training.shared[index], both[index]
        mean, interval = float(np.mean(of)), None
        if math.isfinite(variance):
            half = float(stdtrit(freedom, (1 + LEVEL) / 2) * math.sqrt(variance))
            interval = max(mean - half, min(limits[0], mean)), min(mean + half, max(limits[1], mean))
        estimates.append(Estimate(mean, len(of), interval, noise if interval else ""))
    return estimates


def _p_values(
    means: Doubles, covariance: Doubles, images: int, training: TrainingNoise, one: Indices, other: Indices
) -> Doubles:
    """Test the difference of filters `one` and `other`, paired by images, corrected for all pairs of all filters.

    NaN for pairs that are not given or cannot be tested, (n, n).
    """
    variances = np.diag(covariance)
    over_images = np.maximum(variances[one] + variances[other] - 2 * covariance[one, other], 0)
    total = over_images + training.shared[one] + training.shared[other]
    # Summed below: two estimates may be from the same filters.
    over_seeds = training.variance / np.sqrt(training.freedom)
    few = np.minimum(training.freedom[one], training.freedom[other])
    freedom = _freedom(total, over_images, images, over_seeds[one] + over_seeds[other], few)
    error, difference = np.sqrt(total), np.abs(means[one] - means[other])
    t = np.divide(difference, error, out=np.where(difference == 0, 0, np.inf), where=error != 0)
    tested = np.isfinite(error)
    one, other = one[tested], other[tested]
    p_values = np.full_like(covariance, math.nan)
    p_values[one, other] = p_values[other, one] = range_p_values(
        math.sqrt(2) * t[tested], len({*one.tolist(), *other.tolist()}), freedom[tested]
    )
    return p_values


def range_p_values(q: Doubles, count: int, freedom: Doubles) -> Doubles:
    """Return the p values of m studentised ranges of `count` normal means, (m,); `freedom` is (m,).

    scipy.stats has it, too, at 9 ms a value, which is 3 s for 25 filters by one metric.
    """
    from scipy.special import gammaincinv, ndtr

    z, step = np.linspace(-7, 7, 113, retstep=True)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * step
    nodes, weights = np.polynomial.legendre.leggauss(20)
    # The standard deviation that q was divided by, at quantiles of its distribution.
    deviations = np.sqrt(2 * gammaincinv(freedom[:, None] / 2, (nodes + 1) / 2) / freedom[:, None])
    within = np.empty((len(q), len(nodes)))
    for column, deviation in enumerate(deviations.T):
        lowest = ndtr(z - (q * deviation)[:, None])
        within[:, column] = count * ((ndtr(z) - lowest) ** (count - 1) @ density)
    return np.maximum(1 - within @ weights / 2, 0)
