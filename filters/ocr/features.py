"""Text in images: the interface of OCR engines, and the two steps of OCR as features that all filters share."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.identity import Identified
from filters.base import Features

MAX_CHARACTERS = 300  # per line: text in images is untrusted input
Polygon = list[int]  # x0, y0, x1, y1, ... in pixels of the image, clockwise from the top left of the text


class Line(NamedTuple):
    """Text of one polygon, with spaces between words; `confidence` is from 0 to 1."""

    text: str
    confidence: float


class TextSpotter(Identified, ABC):
    """Detects text and reads it, in two steps because some filters need detection only.

    The identity must include the revision of the model files, which the cache key depends on.
    """

    # Lowest confidence of a line that counts as text: engines see text in petals and wheels too.
    legible: float

    @abstractmethod
    def setup(self, device: Device) -> None:
        """Load the models, once per worker. Raises `UserError` when they are missing."""

    @abstractmethod
    def detect(self, images: Sequence[Image.Image]) -> list[list[Polygon]]:
        """Return the polygons of the text lines in each of the RGB `images`, in reading order."""

    @abstractmethod
    def read(self, images: Sequence[Image.Image], polygons: Sequence[Sequence[Polygon]]) -> list[list[Line]]:
        """Return the text in each polygon of each image; an empty text where nothing is legible."""

    def split_line(self, image: Image.Image, polygon: Polygon) -> list[tuple[str, Polygon]]:
        """Return the words of a line with their polygons; empty if the places of characters are not known."""
        return []


class TextDetection(Features):
    """Text areas: a list of polygons per image, each a flat list of pixel coordinates."""

    needs = frozenset({"image"})
    batch_size: ClassVar[int] = 128

    def __init__(self, spotter: TextSpotter) -> None:
        self.spotter = spotter

    def setup(self, device: Device) -> None:
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

    def setup(self, device: Device) -> None:
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
