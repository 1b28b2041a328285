"""What an engine that finds and reads text in images must offer. Another engine is one more file."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from PIL import Image

from benchmark.core.identity import Identified

Polygon = list[int]  # x0, y0, x1, y1, ... in pixels of the image, clockwise from the top left of the text


class Line(NamedTuple):
    """What was read in one polygon, words apart by spaces; `confidence` is from 0 to 1."""

    text: str
    confidence: float


class TextSpotter(Identified, ABC):
    """Finds text and reads it, in two steps, because some filters need the first alone.

    Its identity holds the revision of its model files, so that a cache knows which engine filled it.
    """

    legible: float  # confidence from which a line counts as text: engines find text in petals and wheels too

    @abstractmethod
    def setup(self, device: torch.device) -> None:
        """Load the models, once per worker. Raises `UserError` if there are none."""

    @abstractmethod
    def detect(self, images: Sequence[Image.Image]) -> list[list[Polygon]]:
        """Return the polygons of the text lines in each of the RGB `images`, in reading order."""

    @abstractmethod
    def read(self, images: Sequence[Image.Image], polygons: Sequence[Sequence[Polygon]]) -> list[list[Line]]:
        """Return what is written in each polygon of each image; empty text where nothing could be read."""
