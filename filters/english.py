"""English captions (DataComp, Gadre et al. 2023, section 5.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.extras import require
from filters.base import Filter, Scores
from filters.text.language import english_detector, language_revision

if TYPE_CHECKING:
    import torch


class English(Filter):
    """1 for a caption whose most probable language is English, else NaN."""

    needs = frozenset({"text"})
    batch_size = 4096

    def __init__(self) -> None:
        require("language")
        self._is_english: Callable[[str], bool] | None = None

    def identity(self) -> dict[str, Any]:
        """Add the version of the language detection library."""
        return super().identity() | {"language": language_revision()}

    def setup(self, device: torch.device) -> None:
        """Load the language detection model, on the CPU."""
        self._is_english = english_detector()

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), 1 or NaN."""
        assert self._is_english is not None, "setup comes before score"
        return np.where([self._keeps(text) for text in batch.texts], np.float32(1), np.float32(np.nan))

    def _keeps(self, text: str) -> bool:
        assert self._is_english is not None, "setup comes before score"
        return self._is_english(text)
