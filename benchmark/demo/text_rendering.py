"""Text in pictures: on plain ground, on a band or with an outline over a scene."""

from collections.abc import Sequence
from functools import lru_cache

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image as PillowImage
from PIL import ImageDraw, ImageFont

from benchmark.demo.world import pick

Image = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]
DARK: tuple[Colour, ...] = ((24, 24, 30), (120, 20, 40), (20, 50, 120), (20, 84, 50), (90, 40, 110))
PALE: tuple[Colour, ...] = (
    (250, 250, 250),
    (255, 232, 90),
    (224, 236, 248),
    (250, 224, 214),
    (214, 240, 214),
)
LARGEST, SMALLEST = 30, 13  # heights of letters in a picture of 128 pixels
OUTLINE = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (5, 5))
OVER_A_SCENE = 22  # leaves the scene to be seen


@lru_cache(maxsize=64)
def _font(height: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.load_default(height)
    assert isinstance(font, ImageFont.FreeTypeFont), "Pillow without FreeType"
    return font


def _lines(words: Sequence[str], limit: float, font: ImageFont.FreeTypeFont) -> list[str]:
    """Break `words` into lines no wider than `limit` pixels, as far as single words allow."""
    lines: list[str] = []
    for word in words:
        if lines and font.getlength(f"{lines[-1]} {word}") <= limit:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


@lru_cache(maxsize=4096)
def _layout(words: tuple[str, ...], size: int, most_lines: int, largest: int) -> tuple[tuple[str, ...], int]:
    """Return the lines and the largest height of letters at which they fit."""
    limit, height = 0.92 * size, round(largest * size / 128)
    while height > SMALLEST * size / 128:
        lines = _lines(words, limit, _font(height))
        fits = len(lines) <= most_lines and len(lines) * height * 1.2 <= 0.9 * size
        if fits and max(_font(height).getlength(line) for line in lines) <= limit:
            return tuple(lines), height
        height -= 2
    return tuple(_lines(words, limit, _font(height))), height


@lru_cache(maxsize=4096)
def _coverage(lines: tuple[str, ...], height: int, width: int) -> Image:
    """Return how much of each pixel the letters cover (0 to 255): uint8, as high as the lines need, 4 to spare."""
    picture = PillowImage.new("L", (width, round(len(lines) * height * 1.2) + 4))
    pen = ImageDraw.Draw(picture)
    for number, text in enumerate(lines):
        x = (width - _font(height).getlength(text)) / 2
        pen.text((x, number * height * 1.2), text, 255, _font(height))
    return np.array(picture)


def _blend(region: Image, colour: Colour, coverage: Image) -> None:
    weight = coverage[:, :, None].astype(np.uint16)
    weight += weight >> 7  # 0 to 256, so that a shift divides
    region[:] = (region * (256 - weight) + np.asarray(colour, np.uint16) * weight) >> 8


def _draw(
    image: Image, lines: tuple[str, ...], height: int, top: int, ink: Colour, edge: Colour | None
) -> None:
    """Write `lines` into `image` from row `top` on, with an outline of colour `edge`."""
    region = image[top:]
    coverage = _coverage(lines, height, image.shape[1])[: len(region)]
    region = region[: len(coverage)]
    if edge:
        _blend(region, edge, np.asarray(cv2.dilate(coverage, OUTLINE), np.uint8))
    _blend(region, ink, coverage)


def render_text(words: Sequence[str], rng: np.random.Generator, size: int = 128) -> Image:
    """Return a picture of nothing but `words` on plain ground: uint8, shape (size, size, 3), RGB."""
    ink, ground = pick(rng, DARK), pick(rng, PALE)
    if rng.random() < 0.5:
        ink, ground = ground, ink
    lines, height = _layout(tuple(words), size, 5, LARGEST)
    image = np.empty((size, size, 3), np.uint8)
    image[:] = ground
    if rng.random() < 0.3:
        cv2.rectangle(image, (4, 4), (size - 5, size - 5), ink, 2)
    top = round((size - len(lines) * height * 1.2) / 2)
    _draw(image, lines, height, top, ink, None)
    return image


def letter(image: Image, words: Sequence[str], rng: np.random.Generator) -> Image:
    """Return `image` with `words` written over its top or its foot, on a band or with an outline."""
    size = image.shape[0]
    lines, height = _layout(tuple(words), size, 2, OVER_A_SCENE)
    block = round(len(lines) * height * 1.2)
    top = 4 if rng.random() < 0.5 else max(size - block - 6, 0)
    ink, edge = pick(rng, PALE), pick(rng, DARK)
    image = image.copy()
    if rng.random() < 0.5:
        cv2.rectangle(image, (0, max(top - 3, 0)), (size, top + block + 3), edge, -1)
        _draw(image, lines, height, top, ink, None)
    else:
        _draw(image, lines, height, top, ink, edge)
    return image
