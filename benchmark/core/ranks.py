"""Thresholds and ranks among any number of scores, in bounded memory: by counting, and sorted in a mapped file."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.disk_buckets import DiskBuckets
from benchmark.core.uids import UidArray

_DIGIT_BITS = 16
_DIGITS = 1 << _DIGIT_BITS
Scores = npt.NDArray[np.float32 | np.float64]
ScoreArrays = Callable[[], Iterator[Scores]]
Columns = Sequence[Scores]
Combine = Callable[[Columns, UidArray], Scores]
Keep = Callable[[Columns, UidArray], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class PoolScores:
    """The scores of several filters for a whole pool, a block at a time."""

    # Gives each filter's scores of m pairs, (m,), and their uids, (m,), whenever it is called.
    blocks: Callable[[], Iterator[tuple[Columns, UidArray]]]
    dtypes: Sequence[np.dtype[Any]]
    folder: Path  # of temporary files

    @classmethod
    def of(cls, scores: Columns, uids: UidArray) -> "PoolScores":
        """Return the scores of a pool that is in memory."""
        dtypes = [column.dtype for column in scores]
        return cls(lambda: iter([(scores, uids)]), dtypes, Path(tempfile.gettempdir()))

    def column(self, number: int, keep: Keep | None = None) -> Iterator[Scores]:
        """Yield one filter's scores, of the pairs that are kept or of all."""
        for scores, uids in self.blocks():
            yield scores[number][keep(scores, uids)] if keep else scores[number]


@dataclass(frozen=True)
class Threshold:
    """The k-th highest score, how many scores are `above` it, and how many equal it (`tied`)."""

    score: float
    above: int
    tied: int


class ScoreCounts:
    """Counts of scores by the highest 16 bits of their position in the order of floats; NaN is not counted.

    Args:
        arrays: gives the same arrays of scores whenever it is called: once here, and for each threshold once more
            (float32) or three times more (float64).
        dtype: float32 or float64, the type of all of these arrays.
    """

    def __init__(self, arrays: ScoreArrays, dtype: npt.DTypeLike) -> None:
        self._arrays = arrays
        self._dtype = np.dtype(dtype)
        self._high = self._dtype.itemsize * 8 - _DIGIT_BITS  # the shift of the highest digit
        self.by_high_digit = self._digit_counts(self._high, 0)  # shape (2^16,), lowest scores first
        self.scored = int(self.by_high_digit.sum())

    def kth_highest(self, k: int) -> Threshold:
        """Return the k-th highest score, for k from 1 to `scored`; -0.0 is returned as 0.0, which equals it."""
        # The `left`-th highest is looked for, of the keys that begin with `prefix`.
        counts, prefix, left = self.by_high_digit, 0, k
        for shift in range(self._high, -1, -_DIGIT_BITS):
            if shift < self._high:
                counts = self._digit_counts(shift, prefix)
            from_top = np.cumsum(counts[::-1])
            position = int(np.searchsorted(from_top, left))
            left -= int(from_top[position - 1]) if position else 0
            digit = _DIGITS - 1 - position
            prefix = prefix << _DIGIT_BITS | digit
        return Threshold(_score_of(prefix, self._dtype), k - left, int(counts[digit]))

    def _digit_counts(self, shift: int, prefix: int) -> npt.NDArray[np.int64]:
        """Count the 16-bit digits at `shift` of the keys whose higher bits are `prefix`, shape (2^16,)."""
        counts = np.zeros(_DIGITS, np.int64)
        for scores in self._arrays():
            keys = _order_keys(scores) >> shift
            if shift < self._high:
                keys = keys[keys >> _DIGIT_BITS == prefix] & (_DIGITS - 1)
            counts += np.bincount(keys.view(f"i{keys.itemsize}"), minlength=_DIGITS)
        return counts


def sort_scores(arrays: ScoreArrays, dtype: npt.DTypeLike, folder: Path) -> Scores:
    """Return n scores in ascending order, NaN left out, as a mapped array of shape (n,) on the disk of `folder`.

    Scores that share their highest 16 bits are sorted at a time.
    """
    buckets = DiskBuckets(ScoreCounts(arrays, dtype).by_high_digit, dtype, folder)
    for scores in arrays():
        scores = scores[~np.isnan(scores)]
        buckets.add(_order_keys(scores) >> scores.itemsize * 8 - _DIGIT_BITS, scores)
    for bucket in buckets:
        bucket.sort()
    return buckets.values


def rank_fraction(scores: Scores, ordered: Scores) -> npt.NDArray[np.float64]:
    """Return each of n scores' rank among the m of `ordered`, divided by m: in (0, 1], shape (n,).

    `ordered` are ascending, of the same type, without NaN. Ties share their mean rank, NaN stays.
    """
    ranks = np.full(scores.shape, np.nan)
    valid = np.flatnonzero(~np.isnan(scores))
    rows = valid[np.argsort(scores[valid])]  # in order, they are found in a large array several times faster
    starts = np.searchsorted(ordered, scores[rows])
    ends = np.searchsorted(ordered, scores[rows], side="right")
    ranks[rows] = (starts + ends + 1) / 2 / len(ordered)
    return ranks


def _order_keys(scores: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return unsigned integers in the order of the scores, equal integers for equal scores; none for NaN."""
    missing = np.isnan(scores)
    scores = (scores[~missing] if missing.any() else scores) + scores.dtype.type(0)  # -0.0 becomes 0.0
    bits = scores.view(f"i{scores.itemsize}")
    # All bits of a negative number are turned, the sign of a positive one.
    turned = bits >> (scores.itemsize * 8 - 1) | np.iinfo(bits.dtype).min
    return np.asarray((bits ^ turned).view(f"u{scores.itemsize}"))


def _score_of(key: int, dtype: np.dtype[Any]) -> float:
    """Return the score that has a key; see `_order_keys`."""
    sign = 1 << (dtype.itemsize * 8 - 1)
    bits = key ^ sign if key & sign else ~key & (2 * sign - 1)
    return float(np.array(bits, f"u{dtype.itemsize}").view(dtype))
