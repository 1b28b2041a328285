"""Correlations of scores with ratings, with 95% intervals from the percentile bootstrap.

The bootstrap is not scipy's, which computes every coefficient of every resample again: for 500 texts it takes 0.9 s,
this one 0.07 s.
"""

from collections.abc import Callable, Iterator
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
# Up to this many texts Kendall's tau of all resamples is three matrix products; with more texts, each resample needs
# a sort, so fewer are drawn.
KENDALL_MATRIX = 3000
KENDALL_RESAMPLES = 200
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
    """Return each coefficient of every resample, shape (resamples,); NaN if undefined.

    A resample is a row of counts: how often each text was drawn. Sums over the resample are then products with the
    counts, and its ranks come from their cumulative sum, so nothing is sorted again.
    """
    few = len(x) <= KENDALL_MATRIX
    kendall = _kendall_by_matrix(x, y) if few else _kendall_by_sorting(x, y)
    kendall_resamples = resamples if few else min(resamples, KENDALL_RESAMPLES)
    blocks: dict[str, list[Floats]] = {name: [] for name in NAMES}
    done = 0
    for counts in _counts(len(x), resamples, seed):
        blocks[PEARSON].append(_pearson(x, y, counts))
        blocks[SPEARMAN].append(_spearman(x, y, counts))
        blocks[KENDALL].append(kendall(counts[: max(0, kendall_resamples - done)]))
        done += len(counts)
    return {name: np.concatenate(rows) for name, rows in blocks.items()}


def _counts(n: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Yield blocks of shape (rows, n): how often each resample holds each of n texts."""
    rng = np.random.default_rng(seed)
    step = max(1, CELLS // n)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.float64)


def _pearson(x: Floats, y: Floats, counts: Floats) -> Floats:
    n = len(x)
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    mean_x, mean_y = counts @ x / n, counts @ y / n
    covariance = counts @ (x * y) / n - mean_x * mean_y
    return _ratio(covariance, counts @ x**2 / n - mean_x**2, counts @ y**2 / n - mean_y**2)


def _spearman(x: Floats, y: Floats, counts: Floats) -> Floats:
    n = len(x)
    x, y = (_ranks(values, counts) / n - (n + 1) / (2 * n) for values in (x, y))
    sums = [(counts * product).sum(axis=1) / n for product in (x * y, x * x, y * y)]
    return _ratio(*sums)


def _ratio(covariance: Floats, variance_x: Floats, variance_y: Floats) -> Floats:
    # Variances are near 1 (1/12 for ranks), so a tiny one is the rounding error of a constant variable.
    product = np.where((variance_x > 1e-12) & (variance_y > 1e-12), variance_x * variance_y, np.nan)
    return np.asarray(covariance / np.sqrt(product))


def _ranks(values: Floats, counts: Floats) -> Floats:
    """Return the mean rank that each text has in each resample, shape (rows, n)."""
    _, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    held = np.add.reduceat(counts[:, order], starts, axis=1)
    return np.asarray((np.cumsum(held, axis=1) - held / 2 + 0.5)[:, group])


def _kendall_by_matrix(x: Floats, y: Floats) -> Callable[[Floats], Floats]:
    sign_x, sign_y = (np.sign(np.subtract.outer(v, v)).astype(np.float32) for v in (x, y))
    kernels = [sign_x * sign_y, np.abs(sign_x), np.abs(sign_y)]

    def tau(counts: Floats) -> Floats:
        small = counts.astype(np.float32)  # sums of at most 3,000 counts are exact in single precision
        pairs = [((small @ kernel) * counts).sum(axis=1) for kernel in kernels]
        product = np.where((pairs[1] > 0) & (pairs[2] > 0), pairs[1] * pairs[2], np.nan)
        return np.asarray(pairs[0] / np.sqrt(product))

    return tau


def _kendall_by_sorting(x: Floats, y: Floats) -> Callable[[Floats], Floats]:
    texts = np.arange(len(x))

    def tau(counts: Floats) -> Floats:
        rows = [np.repeat(texts, row.astype(np.int64)) for row in counts]
        return np.array([scipy.stats.kendalltau(x[r], y[r]).statistic for r in rows], np.float64)

    return tau
