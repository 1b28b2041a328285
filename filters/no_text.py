"""Images without text first (Lin et al. 2023, section 6.2, Curation I)."""

import numpy as np

from benchmark.batch import Batch
from filters.base import Filter, Scores
from filters.ocr.features import TextDetection
from filters.ocr.spotter import TextSpotter


class NoText(Filter):
    """Minus the number of pieces of text in the image; 0 says that there is none."""

    needs = frozenset()

    def __init__(self, ocr: TextSpotter) -> None:
        self.features = (TextDetection(ocr),)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), at most 0."""
        return 0.0 - np.array([len(found) for found in batch.features["polygons"]], np.float32)
