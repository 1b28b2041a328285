"""CLIP scores of images after the caption's words are painted over where they are written: RSC.

A line of text is split between its words if the engine knows the places of characters, by a function per engine. It
is here, and uses what is private in the engine's module, as an edit of that module would change the cache keys of all
text that was read.
"""

import re
from collections.abc import Iterator, Mapping
from functools import singledispatch
from itertools import pairwise
from typing import Any, ClassVar, Literal

import numpy as np
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.ranges import checked
from benchmark.core.requirements import Requirement, State
from filters.base import Features
from filters.clip import Clip
from filters.cotr import co_embedded_words, split_words
from filters.ocr import rapid
from filters.ocr.features import Polygon, TextDetection, TextRecognition, TextSpotter, legible_lines
from filters.text_removal import (
    Areas,
    Fill,
    RandomAreaRemovedClip,
    RelativeScore,
    TextRemovedClip,
    relative_score,
)

Word = tuple[str, Polygon]
BLANK = 0  # the class of CTC between two characters
VERTICAL = 1.5  # height over width from which RapidOCR turns a line by a right angle before it reads it


@singledispatch
def split_line(spotter: TextSpotter, image: Image.Image, polygon: Polygon) -> list[Word]:
    """Return the words of a line of `image` with their polygons; empty if the line cannot be split.

    Engines that know the places of characters register a function for their class.
    """
    return []


def splits_lines(spotter: TextSpotter) -> bool:
    """Return whether a function is registered for the engine."""
    return split_line.dispatch(type(spotter)) is not split_line.dispatch(TextSpotter)


@split_line.register
def _(spotter: rapid.RapidSpotter, image: Image.Image, polygon: Polygon) -> list[Word]:
    """Cut halfway between the columns of the CTC model in which a word ends and the next one starts."""
    for _, crop in rapid._crop_lines(image, [polygon]):
        best = rapid._run(spotter._reader, [crop])[0].argmax(axis=1)
        columns = np.flatnonzero((best != BLANK) & (np.diff(best, prepend=BLANK) != 0))  # one per character
        text: str = spotter._decode(best[None], remove_duplicate=True)[0][0][0]
        words = list(re.finditer(r"\S+", text))
        gaps = [(columns[a.end() - 1] + columns[b.start()] + 1) / 2 / len(best) for a, b in pairwise(words)]
        edges = pairwise([0.0, *gaps, 1.0])  # one more than words if there are none
        return [(word[0], _part(polygon, *edge)) for word, edge in zip(words, edges, strict=False)]
    return []


def _part(polygon: Polygon, start: float, end: float) -> Polygon:
    """Return the part of a quadrilateral between two fractions of its length in the direction of reading."""
    corners = np.reshape(polygon, (4, 2)).astype(float)
    sides = np.linalg.norm(corners - np.roll(corners, -1, axis=0), axis=1)
    if max(sides[1], sides[3]) >= VERTICAL * max(sides[0], sides[2]):
        corners = np.roll(corners, -1, axis=0)  # read from top to bottom
    top_left, top_right, bottom_right, bottom_left = corners
    top, bottom = top_right - top_left, bottom_right - bottom_left
    part = [
        top_left + start * top,
        top_left + end * top,
        bottom_left + end * bottom,
        bottom_left + start * bottom,
    ]
    return [round(value) for value in np.ravel(part).tolist()]


class CoEmbeddedAreas(Features):
    """Polygons of the words that image and caption share; of the whole line if it cannot be split at its words."""

    needs = frozenset({"image", "text"})
    batch_size: ClassVar[int] = 128

    def __init__(self, spotter: TextSpotter) -> None:
        self.spotter = spotter
        self.features = (TextDetection(spotter), TextRecognition(spotter))

    def requirements(self) -> Iterator[Requirement]:
        """Yield those of the spotter, and the places of characters if it does not know them."""
        yield from super().requirements()
        if not splits_lines(self.spotter):
            detail = f"{type(self.spotter).__name__} gives none: whole lines with a word of the caption are painted"
            yield Requirement("places of words", State.WITHOUT, detail)

    def setup(self, device: Device) -> None:
        """Load the spotter's models."""
        self.spotter.setup(device)

    def extract(self, batch: Batch) -> Mapping[str, list[Any]]:
        """Return ``co_areas``: n lists of polygons, empty for images that share no word with their caption."""
        legible = legible_lines(batch, self.spotter)
        return {"co_areas": [self._areas(batch, row, numbers) for row, numbers in enumerate(legible)]}

    def _areas(self, batch: Batch, row: int, legible: list[int]) -> list[Polygon]:
        areas: list[Polygon] = []
        for number in legible:
            polygon, line = batch.features["polygons"][row][number], batch.features["words"][row][number]
            shared = co_embedded_words(batch.texts[row], [line])
            if shared == split_words([line]):  # nothing else to keep
                areas.append(polygon)
            elif shared:
                words = split_line(self.spotter, batch.images[row], polygon)
                areas += [area for word, area in words if word in shared] or [polygon]
        return areas


class WordsRemovedClip(TextRemovedClip):
    """`TextRemovedClip` of the words that image and caption share, in place of the lines that hold them."""

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        ocr: TextSpotter,
        fill: Fill = "surround",
        precision: str = "fp32",
    ) -> None:
        super().__init__(model, pretrained, ocr, "co", fill, precision)
        self.features = (self.features[0], CoEmbeddedAreas(ocr))

    def _text_areas(self, batch: Batch) -> Areas:
        return [list(polygons) for polygons in batch.features["co_areas"]]


class RandomWordsRemovedClip(WordsRemovedClip, RandomAreaRemovedClip):
    """The control of section 5.1: paints over the areas of another image's words."""


@checked
def rsc(
    model: str,
    pretrained: str | None,
    ocr: TextSpotter,
    area: Literal["words", "co"],
    control: bool,
    precision: str = "fp32",
) -> RelativeScore:
    """Return RSC as a filter (section 5.1: "Inpaint the areas of concurrent text").

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        ocr: OCR engine.
        area: the ``words`` that image and caption share, or the lines of OCR that hold one (``co``).
        control: whether to paint over the areas of another image instead.
    """
    if area == "co":
        return relative_score(model, pretrained, ocr, area, control, precision)
    removal = RandomWordsRemovedClip if control else WordsRemovedClip
    removed = removal(model, pretrained, ocr, fill="inpaint", precision=precision)
    return RelativeScore({"raw": Clip(model, pretrained, precision), "removed": removed})
