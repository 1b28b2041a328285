"""CLIP scores of images after the caption's words are painted over where they are written: RSC."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.ranges import checked
from benchmark.core.requirements import Requirement, State
from filters.base import Features
from filters.clip import Clip
from filters.cotr import co_embedded_words, split_words
from filters.ocr.features import Polygon, TextDetection, TextRecognition, TextSpotter, legible_lines
from filters.text_removal import (
    Areas,
    Fill,
    RandomAreaRemovedClip,
    RelativeScore,
    TextRemovedClip,
    relative_score,
)


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
        if type(self.spotter).split_line is TextSpotter.split_line:
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
                words = self.spotter.split_line(batch.images[row], polygon)
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
