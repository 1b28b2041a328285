"""Lines of text as Pillow draws them, composed of letters that are drawn once, in a fifth of the time."""

import math
from collections.abc import Sequence
from functools import lru_cache
from operator import add
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import ImageFont

Image = npt.NDArray[np.uint8]
LINE_SPACING = 1.2  # in font sizes
MARGIN = 4  # maximum pixels that a letter extends beyond the box of its text
DESCENT = 4  # rows below the last line, for letters such as g


class Letter(NamedTuple):
    """The coverage of each pixel by a letter, 0 to 255, and the letter's box relative to the pen, in pixels."""

    coverage: Image
    left: int
    top: int
    right: int
    bottom: int


@lru_cache(maxsize=64)
def _font(height: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(height)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow without FreeType"
    return font


class _Advances(dict[str, float]):
    """The pen's advance in pixels for each pair of neighbouring letters, and for a letter at the end of a line.

    Measuring a line with Pillow takes ten times as long as adding up advances.
    """

    def __init__(self, height: int) -> None:
        self._font = _font(height)

    def __missing__(self, pair: str) -> float:
        self[pair] = self._font.getlength(pair) - self._font.getlength(pair[1:])
        return self[pair]


@lru_cache(maxsize=64)
def _advances(height: int) -> _Advances:
    return _Advances(height)


def _line_advances(line: str, height: int) -> list[float]:
    return list(map(_advances(height).__getitem__, map(add, line, [*line[1:], ""])))


@lru_cache(maxsize=50_000)
def line_width(line: str, height: int) -> float:
    """Return the width of `line` in pixels, as the font's `getlength` does."""
    return sum(_line_advances(line, height))


def space_width(left: str, right: str, height: int) -> float:
    """Return the difference in width between a line with a space between two letters and its two parts."""
    advances = _advances(height)
    return advances[f"{left} "] - advances[left] + advances[f" {right}"]


@lru_cache(maxsize=20_000)
def _letter(letter: str, height: int, start: tuple[float, float]) -> Letter:
    """Return a letter with the pen starting at the fraction `start` of a pixel, (x, y)."""
    mask, (left, top) = _font(height).getmask2(letter, "L", start=start)
    width, rows = mask.size
    coverage = np.frombuffer(bytes(mask), np.uint8).reshape(rows, width)
    return Letter(coverage, left, top, left + width, top + rows)


def text_coverage(lines: Sequence[str], height: int, width: int) -> Image:
    """Return the coverage of each pixel by centred lines, 0 to 255: uint8, shape (text height + 4, width)."""
    rows = round(len(lines) * height * LINE_SPACING) + DESCENT
    widest = max(line_width(line, height) for line in lines)
    margin = MARGIN + max(0, math.ceil((widest - width) / 2))
    # Neighbouring letters overlap by a pixel. Letters two apart and lines do not overlap.
    layers = np.zeros((2, rows + height + 2 * margin, width + 2 * margin), np.uint8)
    for number, line in enumerate(lines):
        _draw_line(layers, line, height, margin, number * height * LINE_SPACING)
    return _united(*layers[:, margin : margin + rows, margin : margin + width])


def _draw_line(layers: Image, line: str, height: int, margin: int, y: float) -> None:
    """Draw a line from row `y` on, with its letters alternating between the two `layers`; layers have margins."""
    advances = _line_advances(line, height)
    x_start, x = math.modf((layers.shape[2] - 2 * margin - sum(advances)) / 2)
    y_start, above = math.modf(y)
    pen, row = int(x) + margin, int(above) + margin
    for index, (character, advance) in enumerate(zip(line, advances, strict=True)):
        coverage, left, top, right, bottom = _letter(character, height, (x_start, y_start))
        region = layers[index % 2, row + top : row + bottom, pen + left : pen + right]
        np.maximum(region, coverage, out=region)
        pen += int(advance)


def _united(first: Image, second: Image) -> Image:
    """Return the coverage of two layers as Pillow does, as if they were independent: a + b - ab / 255."""
    both = first * (255 - second.astype(np.uint16)) + 128
    united: Image = second + ((both + (both >> 8)) >> 8).astype(np.uint8)  # / 255, rounded
    return united
