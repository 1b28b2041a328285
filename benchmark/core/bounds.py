"""The bounds of a filter: which scores pass, and whether a selection ranks the passing pairs or draws k of them."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from benchmark.core.errors import UserError

Scores = npt.NDArray[np.float32 | np.float64]
Bound = Annotated[float | None, Field(description="a number, or null for no bound")]
OUTSIDE = ("below filter.minimum", "above filter.maximum")  # how the reasons of dropped pairs begin


@dataclass(frozen=True)
class Bounds:
    """The settings `minimum`, `maximum` and `rank` of a filter. A bound itself passes."""

    minimum: Bound = None  # lowest value of the paper's measure that passes; None for no bound
    maximum: Bound = None  # highest value that passes; None for no bound
    # Whether the highest of the passing scores are kept. A filter that decides keeps k random pairs.
    rank: bool = True
    low_is_good: bool = False  # whether the score is minus the measure, as RSA

    def __post_init__(self) -> None:
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise UserError(
                f"filter.minimum={self.minimum:g} must be at most filter.maximum={self.maximum:g}"
            )

    def __bool__(self) -> bool:
        """Return whether a selection differs from the highest scores of the whole pool."""
        return self.minimum is not None or self.maximum is not None or not self.rank

    @property
    def lowest(self) -> float:
        """The lowest score that passes."""
        bound = self.maximum if self.low_is_good else self.minimum
        return -np.inf if bound is None else self._score(bound)

    @property
    def highest(self) -> float:
        """The highest score that passes."""
        bound = self.minimum if self.low_is_good else self.maximum
        return np.inf if bound is None else self._score(bound)

    def _score(self, measure: float) -> float:
        return 0.0 - measure if self.low_is_good else float(measure)

    def passes(self, scores: Scores) -> npt.NDArray[np.bool_]:
        """Return which of n scores pass, shape (n,); NaN does not."""
        scores = _narrowest(scores)
        return np.asarray((scores >= self.lowest) & (scores <= self.highest))

    def apply(self, scores: Scores) -> Scores:
        """Return the scores (n,) that a selection sees: NaN outside of the bounds; 1 inside if the filter decides."""
        inside = scores if self.rank else np.float32(1)
        return np.where(self.passes(scores), inside, np.float32(np.nan))

    def outside(self, scores: Scores) -> Counter[str]:
        """Count the scores that do not pass by the bound that they miss."""
        counts, scores = Counter[str](), _narrowest(scores)
        for reason, bound, sign in ((OUTSIDE[0], self.minimum, -1), (OUTSIDE[1], self.maximum, 1)):
            if bound is not None:
                measured = -scores if self.low_is_good else scores
                counts[f"{reason}={bound:g}"] = int((sign * measured > sign * bound).sum())
        return counts


def _narrowest(scores: Scores) -> Scores:
    """Return scores as float32 if nothing is lost: a bound of .9 then is the .9 of a file of float32.

    Scores from 2^24 on stay: a whole number as a bound would be rounded.
    """
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32)
    exact = np.array_equal(narrow, scores, equal_nan=True) and not (np.abs(narrow) >= 2**24).any()
    return narrow if exact else scores


NO_BOUNDS = Bounds()
