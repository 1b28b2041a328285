"""Painting over the text of an image: with the colour around it (T-MARS), or by inpainting (Lin et al. 2023)."""

from collections.abc import Callable, Sequence

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

Pixels = npt.NDArray[np.uint8]
Polygon = Sequence[float]  # x0, y0, x1, y1, ... in pixels
# CLIP sees 224 to 336 pixels: larger images are shrunk first, which makes painting many times faster.
MAX_SIDE = 512
RADIUS = 3  # pixels, the neighbourhood of inpainting (Telea 2004)


def remove_areas(image: Image.Image, polygons: Sequence[Polygon], fill: str) -> Image.Image:
    """Return `image`, shrunk to a longer side of at most `MAX_SIDE`, with the polygons painted over.

    Args:
        image: RGB image.
        polygons: polygons in pixels of `image`; parts outside the image are ignored.
        fill: key of `FILLS`.
    """
    scale = min(1.0, MAX_SIDE / max(image.size))
    if scale < 1:
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, Image.Resampling.BICUBIC)
    outlines = [np.round(np.reshape(polygon, (-1, 2)) * scale).astype(np.int32) for polygon in polygons]
    return Image.fromarray(FILLS[fill](np.array(image), outlines))


def _mask(pixels: Pixels, outlines: Sequence[npt.NDArray[np.int32]]) -> Pixels:
    mask = np.zeros(pixels.shape[:2], np.uint8)
    for outline in outlines:  # one by one: filled together, overlaps would stay empty
        cv2.fillPoly(mask, [outline], 255)
    return mask


def surround(pixels: Pixels, outlines: Sequence[npt.NDArray[np.int32]]) -> Pixels:
    """Fill each area with the mean colour of the pixels around it that belong to no area (T-MARS)."""
    text = _mask(pixels, outlines)
    painted = pixels.copy()
    for outline in outlines:
        area = _mask(pixels, [outline])
        height = min(np.ptp(outline, axis=0)) + 1
        width = 2 * max(2, round(0.15 * height)) + 1
        ring = cv2.dilate(area, np.ones((width, width), np.uint8))
        around = pixels[(ring > 0) & (text == 0)]
        if not len(around):  # text up to the image's edges: use all other pixels, or all pixels
            around = pixels[text == 0] if (text == 0).any() else pixels.reshape(-1, 3)
        painted[area > 0] = around.mean(axis=0).round().astype(np.uint8)
    return painted


def inpaint(pixels: Pixels, outlines: Sequence[npt.NDArray[np.int32]]) -> Pixels:
    """Fill the areas by fast marching (section 5.1; Telea 2004)."""
    mask = _mask(pixels, outlines)
    if mask.all():  # inpainting needs some pixels outside the mask
        return surround(pixels, outlines)
    return np.asarray(cv2.inpaint(pixels, mask, RADIUS, cv2.INPAINT_TELEA), np.uint8)


FILLS: dict[str, Callable[[Pixels, Sequence[npt.NDArray[np.int32]]], Pixels]] = {
    "surround": surround,
    "inpaint": inpaint,
}
