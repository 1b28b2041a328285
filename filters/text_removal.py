"""CLIP scores of images after their text is painted over: T-MARS, and a term of RSA and RSC."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError, did_you_mean
from filters.base import Filter, Scores
from filters.clip import ClipFeatures, cosines
from filters.cotr import co_embedded_words
from filters.ocr.features import TextDetection, TextRecognition, legible_lines
from filters.ocr.spotter import TextSpotter
from filters.ocr.text_areas import FILLS, Polygon, remove_areas

if TYPE_CHECKING:
    import torch

    from benchmark.models.clip_models import ClipModel

AREAS = ("detected", "all", "co")
CONTROL_IMAGES = 1000  # number of images that the control takes text areas from
Areas = list[list[Polygon]]  # per sample, the polygons to paint over


class TextRemovedClip(Filter):
    """Cosine of caption and image after text is painted over; samples without such text keep their cosine.

    T-MARS (Maini et al. 2023) fills detected text with the surrounding colour and ranks by this score. Lin et al.
    (2023, section 5.1) inpaint the legible text, or only the lines that share a word with the caption.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        ocr: OCR engine.
        area: ``detected`` text, ``all`` legible text, or text ``co``-embedded with the caption.
        fill: ``surround`` or ``inpaint``.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
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
        embeddings = ClipFeatures(model, pretrained, precision)
        self.needs = frozenset({"image", "text"} if area == "co" else {"image"})
        self.features = (embeddings, TextDetection(ocr))
        if area != "detected":  # detection alone is three times cheaper
            self.features += (TextRecognition(ocr),)
        self._embeddings = embeddings
        self._clip: ClipModel | None = None

    def setup(self, device: torch.device) -> None:
        """Load CLIP. Raises `UserError` when its weights cannot be found or downloaded."""
        from benchmark.models.clip_models import load_clip

        clip = self._embeddings
        self._clip = load_clip(clip.model, clip.pretrained, device, clip.precision)

    def score(self, batch: Batch) -> Scores:
        """Return cosines of shape (n,)."""
        assert self._clip is not None
        images, texts = batch.features["image"].copy(), batch.features["text"]
        areas = self._areas_to_paint(batch)
        changed = [row for row, polygons in enumerate(areas) if polygons]
        if changed:
            painted = [remove_areas(batch.images[row], areas[row], self.fill) for row in changed]
            images[changed] = self._clip.embed_images(painted)
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

    It measures how much CLIP's score drops through painting alone. The areas come from the first `CONTROL_IMAGES`
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
        for offset in range(min(2, count)):  # the second where the first is the sample itself
            owner, polygons = self._donors[(uid + offset) % count]
            if owner != uid:
                return [_scaled(polygon, width, height) for polygon in polygons]
        return []


def _numbers(batch: Batch) -> list[int]:
    """Return the uids as 128-bit integers."""
    return [high << 64 | low for high, low in batch.uids.tolist()]


def _scaled(polygon: Polygon, x: float, y: float) -> Polygon:
    return [value * (x if index % 2 == 0 else y) for index, value in enumerate(polygon)]
