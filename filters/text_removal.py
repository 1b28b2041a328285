"""CLIP scores of images whose text was painted over: T-MARS, and the two terms of RSA and RSC."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError, did_you_mean
from benchmark.models.clip_models import ClipModel, load_clip
from filters.base import Filter, Scores
from filters.clip import ClipFeatures, cosines
from filters.cotr import co_embedded_words
from filters.ocr.features import TextDetection, TextRecognition, legible_lines
from filters.ocr.spotter import TextSpotter
from filters.ocr.text_areas import FILLS, Polygon, remove_areas

AREAS = ("detected", "all", "co")
FOREIGN = 1000  # images whose areas the control draws from
Areas = list[list[Polygon]]  # for each sample the polygons that are painted over


class TextRemovedClip(Filter):
    """Cosine of caption and image after its text was painted over; samples without such text keep their cosine.

    T-MARS (Maini et al. 2023) fills what detection finds with the colour around it and ranks by this score. Lin et
    al. (2023, section 5.1) inpaint the text that was spotted, or only lines with a word of the caption.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: its weights.
        ocr: finds the text.
        area: whatever was ``detected``, ``all`` text that can be read, or text ``co``-embedded with the caption.
        fill: ``surround`` or ``inpaint``.
    """

    batch_size: ClassVar[int] = 64  # of whole images

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        ocr: TextSpotter,
        area: str = "detected",
        fill: str = "surround",
    ) -> None:
        for name, value, known in (("area", area, AREAS), ("fill", fill, FILLS)):
            if value not in known:
                raise UserError(f"filter.{name}={value} is unknown; {did_you_mean(value, known)}")
        self.area = area
        self.fill = fill
        self.ocr = ocr
        embeddings = ClipFeatures(model, pretrained)
        self.needs = frozenset({"image", "text"} if area == "co" else {"image"})
        self.features = (embeddings, TextDetection(ocr))
        if area != "detected":  # detection alone is three times cheaper
            self.features += (TextRecognition(ocr),)
        self._embeddings = embeddings
        self._clip: ClipModel | None = None

    def setup(self, device: torch.device) -> None:
        """Load CLIP; `UserError` if its weights cannot be had."""
        self._clip = load_clip(self._embeddings.model, self._embeddings.pretrained, device)

    def score(self, batch: Batch) -> Scores:
        """Return cosines of shape (n,)."""
        assert self._clip is not None
        images, texts = batch.features["image"].copy(), batch.features["text"]
        areas = self._painted(batch)
        changed = [row for row, polygons in enumerate(areas) if polygons]
        if changed:
            painted = [remove_areas(batch.images[row], areas[row], self.fill) for row in changed]
            images[changed] = self._clip.embed_images(painted)
        return cosines(images, texts)

    def _painted(self, batch: Batch) -> Areas:
        return self._own(batch)

    def _own(self, batch: Batch) -> Areas:
        """Return the areas of the images' own text."""
        found: Areas = [list(polygons) for polygons in batch.features["polygons"]]
        if self.area == "detected":
            return found
        legible = legible_lines(batch, self.ocr)
        if self.area == "co":
            words = batch.features["words"]
            legible = [
                [number for number in numbers if co_embedded_words(text, [lines[number]])]
                for text, lines, numbers in zip(batch.texts, words, legible, strict=True)
            ]
        return [[polygons[n] for n in numbers] for polygons, numbers in zip(found, legible, strict=True)]


class RandomAreaRemovedClip(TextRemovedClip):
    """The control of section 5.1: what is painted over are areas of another image's text.

    What CLIP's score loses here it loses to painting, not to the text. The areas come from the first `FOREIGN`
    images of the pool that have such text; which of them a sample gets, its uid says.
    """

    _foreign: Sequence[tuple[int, list[Polygon]]] = ()

    def fit(self, batches: Iterable[Batch]) -> None:
        """Gather areas, as shares of their image's width and height."""
        found: list[tuple[int, list[Polygon]]] = []
        for batch in batches:
            for uid, image, polygons in zip(_numbers(batch), batch.images, self._own(batch), strict=True):
                if polygons:
                    found.append((uid, [_scaled(p, 1 / image.width, 1 / image.height) for p in polygons]))
            if len(found) >= FOREIGN:
                break
        self._foreign = found[:FOREIGN]

    def _painted(self, batch: Batch) -> Areas:
        return [
            self._foreign_areas(uid, image.size) if polygons else []
            for uid, image, polygons in zip(_numbers(batch), batch.images, self._own(batch), strict=True)
        ]

    def _foreign_areas(self, uid: int, size: tuple[int, int]) -> list[Polygon]:
        """Return the areas of the image that `uid` draws, in pixels of an image of `size`; never its own."""
        width, height = size
        count = len(self._foreign)
        for step in range(min(2, count)):  # the next one where the first is the sample's own
            owner, polygons = self._foreign[(uid + step) % count]
            if owner != uid:
                return [_scaled(polygon, width, height) for polygon in polygons]
        return []


def _numbers(batch: Batch) -> list[int]:
    """Return the uids as 128-bit integers."""
    return [high << 64 | low for high, low in batch.uids.tolist()]


def _scaled(polygon: Polygon, x: float, y: float) -> Polygon:
    return [value * (x if number % 2 == 0 else y) for number, value in enumerate(polygon)]
