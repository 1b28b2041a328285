"""PAC-S (Sarto et al. 2023): CLIPScore with a CLIP fine-tuned on generated positives."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.requirements import Requirement
from benchmark.models.checkpoints import revision
from benchmark.models.pac_clip import (
    PACSCORE_WEIGHT,
    PREFIX,
    load_pac_clip,
    locate_pac_checkpoint,
    pac_requirements,
)
from filters.base import Filter, Scores
from filters.clip import ClipFeatures, cosines


class PacFeatures(ClipFeatures):
    """L2-normalised embeddings of images and of prefixed captions by a PAC-S checkpoint; arguments as `PacScore`."""

    def __init__(
        self, model: str, pretrained: str | None, checkpoint: str | None, precision: str = "fp32"
    ) -> None:
        super().__init__(model, pretrained, precision, PREFIX.strip())
        self.checkpoint = checkpoint

    def identity(self) -> dict[str, Any]:
        """Identify weights by their content, wherever they are stored."""
        return super().identity() | {"checkpoint": revision(locate_pac_checkpoint(self.checkpoint))}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights."""
        yield from pac_requirements(self.model, self.pretrained, self.checkpoint)

    def setup(self, device: Device) -> None:
        """Load the model. Raises `UserError` when its weights cannot be found or downloaded."""
        self._clip = load_pac_clip(self.model, self.pretrained, self.checkpoint, device, self.precision)


class PacScore(Filter):
    """PAC-S of image and caption: twice the cosine, clipped at 0 as in the paper, so all negative cosines tie.

    Args:
        model: open_clip's name of the CLIP model that was fine-tuned.
        pretrained: open_clip's tag of its weights.
        checkpoint: path of the fine-tuned weights; see `load_pac_clip` for both formats.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """

    needs = frozenset()

    def __init__(
        self, model: str, pretrained: str | None, checkpoint: str | None, precision: str = "fp32"
    ) -> None:
        self.features = (PacFeatures(model, pretrained, checkpoint, precision),)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), from 0 to 2."""
        similarities = cosines(batch.features["image"], batch.features["text"])
        return np.asarray(PACSCORE_WEIGHT * np.maximum(similarities, 0.0), np.float32)
