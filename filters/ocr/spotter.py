"""The interface of OCR engines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from benchmark.core.identity import Identified

if TYPE_CHECKING:
    import torch

Polygon = list[int]  # x0, y0, x1, y1, ... in pixels of the image, clockwise from the top left of the text


class Line(NamedTuple):
    """Text of one polygon, with spaces between words; `confidence` is from 0 to 1."""

    text: str
    confidence: float


class TextSpotter(Identified, ABC):
    """Detects text and reads it, in two steps because some filters need detection only.

    The identity must include the revision of the model files, which the cache key depends on.
    """

    legible: (
        float  # lowest confidence of a line that counts as text: engines see text in petals and wheels too
    )

    @abstractmethod
    def setup(self, device: torch.device) -> None:
        """Load the models, once per worker. Raises `UserError` when they are missing."""

    @abstractmethod
    def detect(self, images: Sequence[Image.Image]) -> list[list[Polygon]]:
        """Return the polygons of the text lines in each of the RGB `images`, in reading order."""

    @abstractmethod
    def read(self, images: Sequence[Image.Image], polygons: Sequence[Sequence[Polygon]]) -> list[list[Line]]:
        """Return the text in each polygon of each image; an empty text where nothing is legible."""
