"""Basic filtering (DataComp, Gadre et al. 2023, section 5.1): English, not too short, not too small, not too long."""

import importlib.metadata
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from benchmark.batch import Batch
from filters.base import Filter, Scores
from filters.language import LIBRARY, english_detector

# The paper prints an aspect ratio below 3; its released baseline, which made the results, keeps 3 itself.
MINIMUM_WORDS, MINIMUM_CHARACTERS, MAXIMUM_ASPECT_RATIO = 3, 6, 3.0


class Basic(Filter):
    """1 for an English caption of more than 2 words and more than 5 characters, of an image that is large enough.

    All others get NaN, also where a size is unknown. Words are what stands between white space.

    Args:
        minimum_side: of an image's smaller side, in pixels, before any resizing.
    """

    needs = frozenset({"text", "original_width", "original_height"})
    batch_size = 4096

    def __init__(self, minimum_side: int) -> None:
        self.minimum_side = minimum_side
        self._is_english: Callable[[str], bool] | None = None

    def identity(self) -> dict[str, Any]:
        """Name the version of the library that knows languages."""
        return super().identity() | {"language": f"{LIBRARY}-{importlib.metadata.version(LIBRARY)}"}

    def setup(self, device: torch.device) -> None:
        """Load the model of languages, on the CPU."""
        self._is_english = english_detector()

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 1 or NaN."""
        sides = np.array([batch.columns["original_width"], batch.columns["original_height"]], np.float64)
        smaller, larger = sides.min(axis=0), sides.max(axis=0)
        large = (smaller >= self.minimum_side) & (larger <= MAXIMUM_ASPECT_RATIO * smaller)
        kept = [fits and self._keeps(text) for fits, text in zip(large, batch.texts, strict=True)]
        return np.where(kept, np.float32(1), np.float32(np.nan))

    def _keeps(self, text: str) -> bool:
        assert self._is_english is not None, "setup comes before score"
        long = len(text.split()) >= MINIMUM_WORDS and len(text) >= MINIMUM_CHARACTERS
        return long and self._is_english(text)
