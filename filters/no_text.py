"""Images without text first (Lin et al. 2023, section 6.2, Curation I)."""

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores
from filters.ocr.features import TextRecognition, TextSpotter


class NoText(Filter):
    """Minus the highest confidence of the lines read in the image; 0 where nothing was read.

    Detection without reading finds text in a quarter of the demo's images without text (results/LOG.md).
    """

    needs = frozenset()

    def __init__(self, ocr: TextSpotter) -> None:
        self.features = (TextRecognition(ocr),)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), from -1 to 0."""
        lines = zip(batch.features["words"], batch.features["confidences"], strict=True)
        max_confidence = [
            max((value for text, value in zip(texts, values, strict=True) if text.strip()), default=0.0)
            for texts, values in lines
        ]
        return 0.0 - np.array(max_confidence, np.float32)
