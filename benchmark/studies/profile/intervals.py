"""Shares and means with 95% intervals: Wilson's for shares, the percentile bootstrap for means."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Z = 1.959963984540054  # 97.5th percentile of the normal distribution
RESAMPLES = 1000
FEWEST = 5  # values; of fewer the bootstrap's interval is far too narrow
# Beyond this many values the mean is as good as normal, and resampling only costs.
NORMAL = 2_000
_CELLS = 2_000_000  # numbers that the bootstrap holds at once


@dataclass(frozen=True)
class Estimate:
    """A share or a mean of `count` samples with its 95% interval; where a number is None, `reason` says why."""

    value: float | None
    low: float | None
    high: float | None
    count: int
    reason: str | None = None


def share(hits: int, count: int) -> Estimate:
    """Return hits / count with the score interval of Wilson (1927)."""
    if not count:
        return Estimate(None, None, None, 0, "no such image")
    p, z2 = hits / count, Z**2
    centre = (p + z2 / (2 * count)) / (1 + z2 / count)
    half = Z * np.sqrt(p * (1 - p) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return _estimate(p, centre - half, centre + half, count)


def mean(values: Floats, seed: int) -> Estimate:
    """Return the mean of n finite values, shape (n,), with an interval of `RESAMPLES` bootstrap samples."""
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
    low, high = np.percentile(_resampled_means(exact, seed), [2.5, 97.5])
    return _estimate(centre, low, high, count)


def _estimate(value: float, low: float, high: float, count: int) -> Estimate:
    return Estimate(_rounded(value), _rounded(low), _rounded(high), count)


def _rounded(value: float) -> float:
    return round(float(value), 6)


def _resampled_means(values: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    step = max(1, _CELLS // len(values))
    blocks = [min(step, RESAMPLES - start) for start in range(0, RESAMPLES, step)]
    return np.concatenate(
        [values[rng.integers(0, len(values), (rows, len(values)))].mean(axis=1) for rows in blocks]
    )
