"""Histograms of any number of numbers, which are counted an array at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.counting import ScoreArrays, ScoreCounts
from benchmark.results.selection_summary import Histogram

BINS = 60
OUTLIERS = 0.001  # share of numbers at each end that may lie beyond the edges


@dataclass(frozen=True)
class Numbers:
    """Any number of numbers, or NaN: `arrays` gives them whenever it is called, in arrays of `dtype`."""

    arrays: ScoreArrays
    dtype: npt.DTypeLike

    @classmethod
    def of(cls, array: npt.NDArray[Any]) -> "Numbers":
        """Return the numbers of an array, (n,)."""
        return cls(lambda: iter([np.asarray(array, np.float64)]), np.float64)

    def finite(self) -> Iterator[npt.NDArray[np.float32 | np.float64]]:
        """Yield the finite ones, an array at a time."""
        return (array[np.isfinite(array)] for array in self.arrays())

    def ends(self) -> list[float]:
        """Return two numbers between which all finite ones but `OUTLIERS` lie, none where there are none."""
        counts = ScoreCounts(self.finite, self.dtype)
        count = counts.scored
        # The nearest ranks, as in numpy's quantiles.
        ranks = [int(np.rint((count - 1) * share)) for share in (OUTLIERS, 1 - OUTLIERS)]
        return [counts.kth_highest(count - rank).score for rank in ranks] if count else []

    def are_whole(self) -> bool:
        """Tell whether all finite ones are whole numbers."""
        return all((array == np.round(array)).all() for array in self.finite())

    def count(self, low: float, high: float, bins: int) -> tuple[int, ...]:
        """Count all but NaN in bins of equal width; those beyond the edges count in the outer bins."""
        counts = np.zeros(bins, np.int64)
        for array in self.arrays():
            values = np.asarray(array[~np.isnan(array)], np.float64)
            counts += np.histogram(np.clip(values, low, high), bins, (low, high))[0]
        return tuple(counts.tolist())


def histogram(pool: Numbers, kept: Numbers) -> Histogram:
    """Count numbers of the pool, and of kept pairs, in at most `BINS` bins of equal width; NaN is left out."""
    low, high, bins = _range(pool, kept)
    edges = np.linspace(low, high, bins + 1).tolist()
    return Histogram(tuple(edges), pool.count(low, high, bins), kept.count(low, high, bins))


def _range(pool: Numbers, kept: Numbers) -> tuple[float, float, int]:
    """Return the outer edges and the number of bins: of both, all but `OUTLIERS` lie between."""
    ends = pool.ends() + kept.ends()
    if not ends:
        return -0.5, 0.5, 1
    low, high = min(ends), max(ends)
    if pool.are_whole() and kept.are_whole() and max(-low, high) < 2**31:
        width = -(-(high - low + 1) // BINS)  # as many whole numbers in every bin
        bins = int(-(-(high - low + 1) // width))
        return low - 0.5, low - 0.5 + width * bins, bins
    if low == high:
        margin = max(0.5, abs(low) / 2)
        return low - margin, high + margin, 1
    return low, high, BINS
