"""A text spotter that finds what a test planted."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from PIL import Image

from filters.ocr.features import Line, Polygon, TextSpotter


class PlantedText(TextSpotter):
    """Finds the polygons and lines that were planted for an image, known by the hash of its pixels."""

    legible = 0.8

    def __init__(self, planted: Mapping[str, Sequence[tuple[Polygon, str]]]) -> None:
        self._planted = dict(planted)
        self.detected = 0
        self.read_lines = 0

    def identity(self) -> dict[str, Any]:
        return {"class": "planted"}

    @staticmethod
    def name(image: Image.Image) -> str:
        return hashlib.sha256(image.tobytes()).hexdigest()

    def setup(self, device: torch.device) -> None:
        pass

    def detect(self, images: Sequence[Image.Image]) -> list[list[Polygon]]:
        self.detected += len(images)
        return [[polygon for polygon, _ in self._planted.get(self.name(i), [])] for i in images]

    def read(self, images: Sequence[Image.Image], polygons: Sequence[Sequence[Polygon]]) -> list[list[Line]]:
        self.read_lines += sum(len(areas) for areas in polygons)
        return [[Line(text, 1.0) for _, text in self._planted.get(self.name(i), [])] for i in images]
