"""The two steps of OCR as features, cached for each shard: a pool is read once for all filters."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch

from benchmark.core.batch import Batch
from filters.base import Features
from filters.ocr.spotter import TextSpotter

MAX_CHARACTERS = 300  # of a line: what an image says is untrusted


class TextDetection(Features):
    """Where text is: a list of polygons for each image, each a flat list of pixel coordinates."""

    needs = frozenset({"image"})
    batch_size: ClassVar[int] = 128

    def __init__(self, spotter: TextSpotter) -> None:
        self.spotter = spotter

    def setup(self, device: torch.device) -> None:
        """Load the spotter's models."""
        self.spotter.setup(device)

    def extract(self, batch: Batch) -> Mapping[str, list[Any]]:
        """Return ``polygons``: for each of the n images its list of polygons, empty where there is no text."""
        return {"polygons": self.spotter.detect(batch.images)}


class TextRecognition(Features):
    """What the text says: for each polygon of `TextDetection` its words and how sure the reader is."""

    needs = frozenset({"image"})
    batch_size: ClassVar[int] = 128

    def __init__(self, spotter: TextSpotter) -> None:
        self.spotter = spotter
        self.features = (TextDetection(spotter),)

    def setup(self, device: torch.device) -> None:
        """Load the spotter's models."""
        self.spotter.setup(device)

    def extract(self, batch: Batch) -> Mapping[str, list[Any]]:
        """Return ``words`` and ``confidences``: for each of the n images a string and a float for each polygon."""
        lines = self.spotter.read(batch.images, list(batch.features["polygons"]))
        return {
            "words": [[line.text[:MAX_CHARACTERS] for line in of_image] for of_image in lines],
            "confidences": [[round(line.confidence, 4) for line in of_image] for of_image in lines],
        }


def legible_lines(batch: Batch, spotter: TextSpotter) -> list[list[int]]:
    """Return for each of the n images the numbers of the lines that count as text; needs `TextRecognition`."""
    lines = zip(batch.features["words"], batch.features["confidences"], strict=True)
    return [
        [
            number
            for number, (text, confidence) in enumerate(zip(texts, confidences, strict=True))
            if text.strip() and confidence >= spotter.legible
        ]
        for texts, confidences in lines
    ]
