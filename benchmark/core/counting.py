"""The k-th highest of any number of scores by counting, in bounded memory: radix descent over the bits of floats."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

_DIGIT_BITS = 16
_DIGITS = 1 << _DIGIT_BITS
_Counts = npt.NDArray[np.int64]
_Keys = npt.NDArray[np.uint32 | np.uint64]
ScoreArrays = Callable[[], Iterator[npt.NDArray[np.float32 | np.float64]]]


@dataclass(frozen=True)
class Threshold:
    """The k-th highest score, how many scores are `above` it, and how many equal it (`tied`)."""

    score: float
    above: int
    tied: int


class ScoreCounts:
    """Counts of scores by the highest 16 bits of their place in the order of floats; NaN is not counted.

    Args:
        arrays: gives the same arrays of scores whenever it is called: once here, and for each threshold once more
            (float32) or three times more (float64).
        dtype: float32 or float64, the type of all of these arrays.
    """

    def __init__(self, arrays: ScoreArrays, dtype: npt.DTypeLike) -> None:
        self._arrays = arrays
        self._dtype = np.dtype(dtype)
        self.by_high_digit = self._digit_counts(
            self._bits - _DIGIT_BITS, 0
        )  # shape (2^16,), lowest scores first
        self.scored = int(self.by_high_digit.sum())

    @property
    def _bits(self) -> int:
        return self._dtype.itemsize * 8

    def kth_highest(self, k: int) -> Threshold:
        """Return the k-th highest score, for k from 1 to `scored`; 0.0 stands for -0.0, which equals it."""
        # The `left`-th highest is looked for, of the keys that begin with `prefix`.
        counts, prefix, left = self.by_high_digit, 0, k
        for shift in range(self._bits - _DIGIT_BITS, -1, -_DIGIT_BITS):
            if shift < self._bits - _DIGIT_BITS:
                counts = self._digit_counts(shift, prefix)
            from_top = np.cumsum(counts[::-1])
            place = int(np.searchsorted(from_top, left))
            left -= int(from_top[place - 1]) if place else 0
            digit = _DIGITS - 1 - place
            prefix = prefix << _DIGIT_BITS | digit
        return Threshold(_score_of(prefix, self._dtype), k - left, int(counts[digit]))

    def _digit_counts(self, shift: int, prefix: int) -> _Counts:
        """Count the 16-bit digits at `shift` of the keys whose higher bits are `prefix`, shape (2^16,)."""
        counts = np.zeros(_DIGITS, np.int64)
        for scores in self._arrays():
            keys = _order_keys(scores) >> shift
            if shift < self._bits - _DIGIT_BITS:
                keys = keys[keys >> _DIGIT_BITS == prefix] & (_DIGITS - 1)
            counts += np.bincount(keys.view(f"i{keys.itemsize}"), minlength=_DIGITS)
        return counts


def high_digits(scores: npt.NDArray[np.float32 | np.float64]) -> npt.NDArray[np.uint16]:
    """Return the highest 16 bits of each of n scores' places in the order of floats, (n,); none for NaN."""
    return (_order_keys(scores) >> scores.itemsize * 8 - _DIGIT_BITS).astype(np.uint16)


def _order_keys(scores: npt.NDArray[Any]) -> _Keys:
    """Return unsigned integers in the order of the scores, equal ones for equal scores; none for NaN."""
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
