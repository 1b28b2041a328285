"""Where a training run logs its losses and rates, and captions that its model writes on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from PIL import Image


@dataclass(frozen=True)
class CaptionedImage:
    """A thumbnail in RGB, the caption that a model wrote for the image, and its reference captions."""

    image: Image.Image
    caption: str
    references: tuple[str, ...]


class MetricLogger(Protocol):
    """Logs the numbers of one run."""

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        """Log `values` (e.g. ``{"captioner/loss": 2.1}``) at `step` samples seen."""

    def log_captions(self, name: str, captions: Sequence[CaptionedImage], step: int) -> None:
        """Log generated captions as `name` (e.g. ``captioner/captions``) at `step` samples seen."""
