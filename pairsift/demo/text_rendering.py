"""Text in images: on a plain background, or over a scene on a band or with an outline."""

from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from pairsift.demo.draws import pick

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]
DARK = (24, 24, 30), (120, 20, 40), (20, 50, 120), (20, 84, 50), (90, 40, 110)
PALE = (250, 250, 250), (255, 232, 90), (224, 236, 248), (250, 224, 214), (214, 240, 214)
MAX_HEIGHT, MIN_HEIGHT = 30, 11  # font sizes in an image of 128 pixels
LINE_SPACING = 1.2  # in font sizes
DESCENT = 4  # rows below the last line, for letters such as g
OUTLINE = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
MAX_OVERLAY_HEIGHT = 17  # small enough to leave most of the scene visible


_font = lru_cache(maxsize=64)(ImageFont.load_default)


@lru_cache(maxsize=50_000)
def _width(line: str, height: int) -> float:
    return float(_font(height).getlength(line))


def _lines(words: Sequence[str], limit: float, height: int) -> tuple[tuple[str, ...], float]:
    """Break `words` into lines of at most `limit` pixels, if no single word is wider; return also the widest."""
    lines = [words[0]]
    for word in words[1:]:
        joined = f"{lines[-1]} {word}"
        if _width(joined, height) <= limit:
            lines[-1] = joined
        else:
            lines.append(word)
    return tuple(lines), max(_width(line, height) for line in lines)


def _coverage(lines: Sequence[str], height: int, width: int) -> Image:
    """Return how much of each pixel centred lines cover, 0 to 255: uint8, shape (text height + 4, width)."""
    canvas = PillowImage.new("L", (width, round(len(lines) * height * LINE_SPACING) + DESCENT))
    pen = ImageDraw.Draw(canvas)
    for number, line in enumerate(lines):
        start = (width - _width(line, height)) / 2
        pen.text((start, number * height * LINE_SPACING), line, 255, _font(height))
    return np.asarray(canvas)


@lru_cache(maxsize=4096)
def _layout(
    words: tuple[str, ...], size: int, max_lines: int, max_height: int
) -> tuple[tuple[str, ...], int]:
    """Return the lines, and the largest font size at which they fit into the image."""
    limit, height = 0.92 * size, round(max_height * size / 128)
    while height > MIN_HEIGHT * size / 128:
        lines, widest = _lines(words, limit, height)
        if len(lines) <= max_lines and len(lines) * height * LINE_SPACING <= 0.9 * size and widest <= limit:
            return lines, height
        height -= 2
    return _lines(words, limit, height)[0], height


def _blend(region: Image, colour: Colour, coverage: Image) -> None:
    weight = cv2.merge([coverage] * 3).astype(np.uint16)
    weight += weight >> 7  # 255 becomes 256, so that a shift can replace the division
    # A row: numpy is slow on three numbers.
    paint = np.tile(np.asarray(colour, np.uint16), (region.shape[1], 1))
    region[:] = (region * (256 - weight) + paint * weight) >> 8


def _draw(
    image: Image, lines: tuple[str, ...], height: int, top: int, ink: Colour, edge: Colour | None
) -> None:
    """Draw `lines` into `image` starting at row `top`, with an outline of colour `edge` unless it is None."""
    region = image[top:]
    coverage = _coverage(lines, height, image.shape[1])[: len(region)]
    region = region[: len(coverage)]
    if edge:
        _blend(region, edge, np.asarray(cv2.dilate(coverage, OUTLINE), np.uint8))
    _blend(region, ink, coverage)


def render_text(words: Sequence[str], rng: np.random.Generator, size: int = 128) -> Image:
    """Return an image of `words` on a plain background: RGB, uint8, shape (size, size, 3)."""
    ink, ground = pick(rng, DARK), pick(rng, PALE)
    if rng.random() < 0.5:
        ink, ground = ground, ink
    lines, height = _layout(tuple(words), size, 5, MAX_HEIGHT)
    image = np.empty((size, size, 3), np.uint8)
    image[:] = ground
    if rng.random() < 0.3:
        cv2.rectangle(image, (4, 4), (size - 5, size - 5), ink, 2)
    top = round((size - len(lines) * height * LINE_SPACING) / 2)
    _draw(image, lines, height, top, ink, None)
    return image


def overlay_text(image: Image, words: Sequence[str], rng: np.random.Generator) -> Image:
    """Return a copy of `image` with `words` at the top or the bottom, on a band or with an outline."""
    size = image.shape[0]
    lines, height = _layout(tuple(words), size, 2, MAX_OVERLAY_HEIGHT)
    block = round(len(lines) * height * LINE_SPACING)
    top = 4 if rng.random() < 0.5 else max(size - block - 6, 0)
    ink, edge = pick(rng, PALE), pick(rng, DARK)
    image = image.copy()
    if rng.random() < 0.5:
        cv2.rectangle(image, (0, max(top - 3, 0)), (size, top + block + 3), edge, -1)
        _draw(image, lines, height, top, ink, None)
    else:
        _draw(image, lines, height, top, ink, edge)
    return image
