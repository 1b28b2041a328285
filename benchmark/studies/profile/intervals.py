"""Shares and means with 95% intervals: Wilson's for shares, the percentile bootstrap for means."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Z = 1.959963984540054  # 97.5th percentile of the normal distribution
RESAMPLES = 1000
FEWEST = 5  # values; with fewer the bootstrap interval is far too narrow
# With more values the mean is nearly normal, and resampling would only cost time.
NORMAL = 2_000
CELLS = 2_000_000  # numbers that the bootstrap holds in memory


@dataclass(frozen=True)
class Estimate:
    """A share or mean of `count` samples with its 95% interval; `reason` says why a number is None."""

    value: float | None
    low: float | None
    high: float | None
    count: int
    reason: str | None = None


def share(hits: int, count: int) -> Estimate:
    """Return hits / count with the score interval of Wilson (1927)."""
    if not count:
        return Estimate(None, None, None, 0, "no such image")
    from scipy import stats

    interval = stats.binomtest(hits, count).proportion_ci(method="wilson")
    return _estimate(hits / count, interval.low, interval.high, count)


def mean(values: Floats, seed: int) -> Estimate:
    """Return the mean of n finite values, shape (n,), with its interval.

    The interval is the percentile bootstrap of `RESAMPLES` resamples, drawn with the random seed `seed`; with more
    than `NORMAL` values it is that of the normal distribution.
    """
    exact = values.astype(np.float64)
    count = len(exact)
    if not count:
        return Estimate(None, None, None, 0, "no such image")
    centre = float(exact.mean())
    if count < FEWEST:
        return Estimate(_rounded(centre), None, None, count, f"{count} images; an interval needs {FEWEST}")
    if count > NORMAL:
        half = Z * float(exact.std(ddof=1)) / np.sqrt(count)
        return _estimate(centre, centre - half, centre + half, count)
    from scipy import stats

    interval = stats.bootstrap(
        (exact,),
        np.mean,
        n_resamples=RESAMPLES,
        batch=CELLS // count,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    return _estimate(centre, interval.low, interval.high, count)


def _estimate(value: float, low: float, high: float, count: int) -> Estimate:
    return Estimate(_rounded(value), _rounded(low), _rounded(high), count)


def _rounded(value: float) -> float:
    return round(float(value), 6)
