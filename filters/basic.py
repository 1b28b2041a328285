"""Basic filtering (DataComp, Gadre et al. 2023, section 4.1): English, not too short, not too small, not too long."""

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.ranges import PositiveInt
from filters.base import Scores
from filters.english import English

# The paper prints an aspect ratio below 3; its released baseline, which made the results, keeps 3 itself.
MINIMUM_WORDS, MINIMUM_CHARACTERS, MAXIMUM_ASPECT_RATIO = 3, 6, 3.0


class Basic(English):
    """1 for an English caption of more than 2 words and more than 5 characters whose image is large enough, else NaN.

    A sample of unknown image size gets NaN. Words are separated by white space.

    Args:
        minimum_side: minimum of the image's smaller side, in pixels, before any resizing.
    """

    needs = frozenset({"text", "original_width", "original_height"})

    def __init__(self, minimum_side: PositiveInt) -> None:
        super().__init__()
        self.minimum_side = minimum_side

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 1 or NaN."""
        sides = np.array([_pixels(batch, name) for name in ("original_width", "original_height")])
        smaller, larger = sides.min(axis=0), sides.max(axis=0)
        large_enough = (smaller >= self.minimum_side) & (larger <= MAXIMUM_ASPECT_RATIO * smaller)
        kept = [fits and self._keeps(text) for fits, text in zip(large_enough, batch.texts, strict=True)]
        return np.where(kept, np.float32(1), np.float32(np.nan))

    def _keeps(self, text: str) -> bool:
        long_enough = len(text.split()) >= MINIMUM_WORDS and len(text) >= MINIMUM_CHARACTERS
        return long_enough and super()._keeps(text)


def _pixels(batch: Batch, column: str) -> npt.NDArray[np.float64]:
    """Return a side of n images in pixels, shape (n,), NaN if unknown."""
    try:
        return np.array(batch.columns[column], np.float64)
    except (TypeError, ValueError, OverflowError):
        raise UserError(f"filter=basic: column {column} of the metadata must hold numbers") from None
