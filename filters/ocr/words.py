"""Words within a line of text: its quadrilateral is split between them, if the engine knows its characters' places.

A function per engine, in a module that only RSC imports: an edit of the engine's own module would change the cache
keys of all text that was read. That is why this one uses what is private there.
"""

import re
from functools import singledispatch
from itertools import pairwise

import numpy as np
from PIL import Image

from filters.ocr import rapid
from filters.ocr.features import Polygon, TextSpotter

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
