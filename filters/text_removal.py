"""CLIP scores of images after their text is painted over: T-MARS, RSA and RSC."""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.uids import UidArray
from filters.base import Composite, Filter, Scores
from filters.clip import Clip, ClipFeatures, ClipReader, cosines
from filters.cotr import co_embedded_words
from filters.ocr.features import TextDetection, TextRecognition, TextSpotter, legible_lines

Pixels = npt.NDArray[np.uint8]
Polygon = Sequence[float]  # x0, y0, x1, y1, ... in pixels
# CLIP sees 224 to 336 pixels: larger images are shrunk first, which makes painting many times faster.
MAX_SIDE = 512
RADIUS = 3  # pixels, the neighbourhood of inpainting (Telea 2004)
AREAS = ("detected", "all", "co")
CONTROL_IMAGES = 1000  # number of images that the control takes text areas from
Areas = list[list[Polygon]]  # per sample, the polygons to paint over


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


class TextRemovedClip(Filter):
    """Cosine of caption and image after text is painted over; samples without such text keep their cosine.

    T-MARS (Maini et al. 2023) fills detected text with the surrounding colour and ranks by this score. Lin et al.
    (2023, section 5.1) inpaint the legible text, or only the lines that share a word with the caption.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        ocr: OCR engine.
        area: ``detected`` text, ``all`` legible text, or text ``co``-embedded with the caption.
        fill: ``surround`` or ``inpaint``.
    """

    batch_size: ClassVar[int] = 64  # whole images are in memory

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        ocr: TextSpotter,
        area: str = "detected",
        fill: str = "surround",
        precision: str = "fp32",
    ) -> None:
        for name, value, known in (("area", area, AREAS), ("fill", fill, FILLS)):
            if value not in known:
                raise UserError(f"filter.{name}={value} is unknown; {did_you_mean(value, known)}")
        self.area = area
        self.fill = fill
        self.ocr = ocr
        self._model = ClipReader(model, pretrained, precision)
        self.needs = frozenset({"image", "text"} if area == "co" else {"image"})
        self.features = (ClipFeatures(model, pretrained, precision), TextDetection(ocr))
        if area != "detected":  # detection without reading is three times cheaper
            self.features += (TextRecognition(ocr),)

    def setup(self, device: Device) -> None:
        """Load CLIP. Raises `UserError` when its weights cannot be found or downloaded."""
        self._model.setup(device)

    def score(self, batch: Batch) -> Scores:
        """Return cosines of shape (n,)."""
        images, texts = batch.features["image"].copy(), batch.features["text"]
        areas = self._areas_to_paint(batch)
        changed = [row for row, polygons in enumerate(areas) if polygons]
        if changed:
            painted = [remove_areas(batch.images[row], areas[row], self.fill) for row in changed]
            images[changed] = self._model.clip.embed_images(painted)
        return cosines(images, texts)

    def _areas_to_paint(self, batch: Batch) -> Areas:
        return self._text_areas(batch)

    def _text_areas(self, batch: Batch) -> Areas:
        """Return the text areas of each image, as `area` selects them."""
        detected: Areas = [list(polygons) for polygons in batch.features["polygons"]]
        if self.area == "detected":
            return detected
        legible = legible_lines(batch, self.ocr)
        if self.area == "co":
            words = batch.features["words"]
            legible = [
                [number for number in numbers if co_embedded_words(text, [lines[number]])]
                for text, lines, numbers in zip(batch.texts, words, legible, strict=True)
            ]
        return [[polygons[n] for n in numbers] for polygons, numbers in zip(detected, legible, strict=True)]


class RandomAreaRemovedClip(TextRemovedClip):
    """The control of section 5.1: paints over the text areas of another image.

    It measures how much CLIP's score drops through painting itself. The areas come from the first `CONTROL_IMAGES`
    images of the pool with such text; a sample's uid chooses among them.
    """

    _donors: Sequence[tuple[int, list[Polygon]]] = ()

    def fit(self, batches: Iterable[Batch]) -> None:
        """Collect text areas, relative to their image's width and height."""
        donors: list[tuple[int, list[Polygon]]] = []
        for batch in batches:
            for uid, image, polygons in zip(
                _numbers(batch), batch.images, self._text_areas(batch), strict=True
            ):
                if polygons:
                    donors.append((uid, [_scaled(p, 1 / image.width, 1 / image.height) for p in polygons]))
            if len(donors) >= CONTROL_IMAGES:
                break
        self._donors = donors[:CONTROL_IMAGES]

    def _areas_to_paint(self, batch: Batch) -> Areas:
        return [
            self._control_areas(uid, image.size) if polygons else []
            for uid, image, polygons in zip(
                _numbers(batch), batch.images, self._text_areas(batch), strict=True
            )
        ]

    def _control_areas(self, uid: int, size: tuple[int, int]) -> list[Polygon]:
        """Return the text areas of another image, chosen by `uid`, in pixels of an image of `size`."""
        width, height = size
        count = len(self._donors)
        for offset in range(min(2, count)):  # the second if the first is the sample itself
            owner, polygons = self._donors[(uid + offset) % count]
            if owner != uid:
                return [_scaled(polygon, width, height) for polygon in polygons]
        return []


def _numbers(batch: Batch) -> list[int]:
    """Return the uids as 128-bit integers."""
    return [high << 64 | low for high, low in batch.uids.tolist()]


def _scaled(polygon: Polygon, x: float, y: float) -> Polygon:
    return [value * (x if index % 2 == 0 else y) for index, value in enumerate(polygon)]


class RelativeScore(Composite):
    """S(removed) - S(raw): the paper's relative score with its sign flipped, because there low is good."""

    def combine(self, scores: Sequence[Scores], uids: UidArray) -> Scores:
        """Return scores of shape (n,) from the scores before and after removal, (n,) each."""
        return np.asarray(scores[1] - scores[0], np.float32)


def relative_score(
    model: str, pretrained: str | None, ocr: TextSpotter, area: str, control: bool, precision: str = "fp32"
) -> RelativeScore:
    """Return RSA or RSC as a filter.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        ocr: OCR engine.
        area: ``all`` text for RSA, ``co``-embedded text for RSC.
        control: whether to paint over the text areas of another image instead.
    """
    removal = RandomAreaRemovedClip if control else TextRemovedClip
    removed = removal(model, pretrained, ocr, area, fill="inpaint", precision=precision)
    return RelativeScore({"raw": Clip(model, pretrained, precision), "removed": removed})
