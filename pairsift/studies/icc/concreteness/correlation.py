"""Correlations of scores with ratings, with 95% intervals from the percentile bootstrap."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy  # `scipy.stats` is imported when it is used

Floats = npt.NDArray[np.float64]
PEARSON, SPEARMAN, KENDALL = "pearson", "spearman", "kendall"
NAMES = (PEARSON, SPEARMAN, KENDALL)  # in the order of the ICC paper's Table 3
RESAMPLES = 1000
COVERAGE = 0.95
MIN_TEXTS = 3  # two points always lie on a line
KENDALL_TEXTS, KENDALL_RESAMPLES = 3000, 200  # with more texts, Kendall's tau has fewer resamples: it is slow
CELLS = 2_000_000  # numbers that the bootstrap holds in memory


@dataclass(frozen=True)
class Correlation:
    """One coefficient: signed, absolute (as in Table 3), its 95% interval, or the `reason` why it is missing."""

    value: float | None
    absolute: float | None = None
    low: float | None = None
    high: float | None = None
    resamples: int = 0
    reason: str | None = None


def correlate(
    scores: npt.NDArray[np.floating], ratings: Floats, seed: int = 0, resamples: int = RESAMPLES
) -> dict[str, Correlation]:
    """Return Pearson, Spearman and Kendall (tau-b) of n scores, all finite, with n ratings.

    Intervals are percentiles over `resamples` resamples of the texts; for Kendall with more than 3,000 texts over at
    most 200. A resample without a coefficient (all values equal) is left out. `seed` is the random seed.
    """
    x, y = np.asarray(scores, np.float64), np.asarray(ratings, np.float64)
    reason = _undefined(x, y)
    if reason:
        return {name: Correlation(None, reason=reason) for name in NAMES}
    values = {
        PEARSON: scipy.stats.pearsonr(x, y).statistic,
        SPEARMAN: scipy.stats.spearmanr(x, y).statistic,
        KENDALL: scipy.stats.kendalltau(x, y).statistic,
    }
    resampled = bootstrap(x, y, seed, resamples)
    return {name: _with_interval(float(values[name]), resampled[name]) for name in NAMES}


def _undefined(x: Floats, y: Floats) -> str | None:
    if len(x) < MIN_TEXTS:
        return f"{len(x)} scored texts; a correlation needs {MIN_TEXTS}"
    if np.ptp(x) == 0:
        return "all scores are equal"
    return "all ratings are equal" if np.ptp(y) == 0 else None


def _with_interval(value: float, resampled: Floats) -> Correlation:
    defined = resampled[~np.isnan(resampled)]
    if not len(defined):
        return Correlation(value, abs(value))
    tail = 50 * (1 - COVERAGE)
    low, high = np.percentile(defined, [tail, 100 - tail])
    return Correlation(value, abs(value), float(low), float(high), len(defined))


def bootstrap(x: Floats, y: Floats, seed: int, resamples: int) -> dict[str, Floats]:
    """Return each coefficient of every resample, shape (resamples,); NaN if undefined."""
    n, rng = len(x), np.random.default_rng(seed)
    kendall_left = resamples if n <= KENDALL_TEXTS else min(resamples, KENDALL_RESAMPLES)
    blocks: dict[str, list[Floats]] = {name: [] for name in NAMES}
    step = max(1, CELLS // n)
    for start in range(0, resamples, step):
        drawn = rng.integers(0, n, (min(step, resamples - start), n))
        xs, ys = x[drawn], y[drawn]
        blocks[PEARSON].append(_pearson(xs, ys))
        blocks[SPEARMAN].append(_pearson(*(scipy.stats.rankdata(values, axis=1) for values in (xs, ys))))
        pairs = list(zip(xs, ys, strict=True))[:kendall_left]
        blocks[KENDALL].append(np.array([scipy.stats.kendalltau(*pair).statistic for pair in pairs], float))
        kendall_left -= len(pairs)
    return {name: np.concatenate(rows) for name, rows in blocks.items()}


def _pearson(x: Floats, y: Floats) -> Floats:
    """Return the correlation of each of m rows, (m, n), shape (m,); NaN if a row's values are all equal."""
    defined = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
    x, y = (values - values.mean(axis=1, keepdims=True) for values in (x, y))
    variances = np.where(defined, (x * x).sum(axis=1) * (y * y).sum(axis=1), np.nan)
    return np.asarray((x * y).sum(axis=1) / np.sqrt(variances))
