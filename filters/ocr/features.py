"""The two steps of OCR as cached features: each pool is read once, for all filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from benchmark.core.batch import Batch
from filters.base import Features
from filters.ocr.spotter import TextSpotter

if TYPE_CHECKING:
    import torch

MAX_CHARACTERS = 300  # per line: text in images is untrusted input


class TextDetection(Features):
    """Text areas: a list of polygons per image, each a flat list of pixel coordinates."""

    needs = frozenset({"image"})
    batch_size: ClassVar[int] = 128

    def __init__(self, spotter: TextSpotter) -> None:
        self.spotter = spotter

    def setup(self, device: torch.device) -> None:
        """Load the spotter's models."""
        self.spotter.setup(device)

    def extract(self, batch: Batch) -> Mapping[str, list[Any]]:
        """Return ``polygons``: n lists of polygons, empty for images without text."""
        return {"polygons": self.spotter.detect(batch.images)}


class TextRecognition(Features):
    """Text of each polygon of `TextDetection`, with its confidence."""

    needs = frozenset({"image"})
    batch_size: ClassVar[int] = 128

    def __init__(self, spotter: TextSpotter) -> None:
        self.spotter = spotter
        self.features = (TextDetection(spotter),)

    def setup(self, device: torch.device) -> None:
        """Load the spotter's models."""
        self.spotter.setup(device)

    def extract(self, batch: Batch) -> Mapping[str, list[Any]]:
        """Return ``words`` and ``confidences``: n lists with a string and a float per polygon."""
        lines = self.spotter.read(batch.images, list(batch.features["polygons"]))
        return {
            "words": [[line.text[:MAX_CHARACTERS] for line in of_image] for of_image in lines],
            "confidences": [[round(line.confidence, 4) for line in of_image] for of_image in lines],
        }


def legible_lines(batch: Batch, spotter: TextSpotter) -> list[list[int]]:
    """Return per image the indices of the lines that count as text. Needs the outputs of `TextRecognition`."""
    lines = zip(batch.features["words"], batch.features["confidences"], strict=True)
    return [
        [
            index
            for index, (text, confidence) in enumerate(zip(texts, confidences, strict=True))
            if text.strip() and confidence >= spotter.legible
        ]
        for texts, confidences in lines
    ]
