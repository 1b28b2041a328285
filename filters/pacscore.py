"""PAC-S (Sarto et al. 2023): CLIPScore with a CLIP fine-tuned on generated positives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device, check_precision
from benchmark.core.pixel_workers import Preprocessing
from benchmark.core.requirements import Requirement
from benchmark.models.checkpoints import revision
from benchmark.models.clip_weights import clip_identity
from benchmark.models.pac_weights import PACSCORE_WEIGHT, PREFIX, locate_pac_checkpoint, pac_requirements
from filters.base import Features, Filter, Scores

if TYPE_CHECKING:
    from benchmark.models.clip_models import ClipModel


class PacFeatures(Features):
    """L2-normalised embeddings of images and of prefixed captions by a PAC-S checkpoint; arguments as `PacScore`."""

    needs = frozenset({"image", "text"})

    def __init__(
        self, model: str, pretrained: str | None, checkpoint: str | None, precision: str = "fp32"
    ) -> None:
        self.model = model
        self.pretrained = pretrained
        self.checkpoint = checkpoint
        self.precision = check_precision(precision)
        self._clip: ClipModel | None = None

    def identity(self) -> dict[str, Any]:
        """Identify weights by their content, wherever they lie; add the prefix."""
        checkpoint = revision(locate_pac_checkpoint(self.checkpoint))
        weights = clip_identity(self.model, self.pretrained) | {"checkpoint": checkpoint}
        return super().identity() | {"prefix": PREFIX} | weights

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights."""
        yield from pac_requirements(self.model, self.pretrained, self.checkpoint)

    def setup(self, device: Device) -> None:
        """Load the model. Raises `UserError` when its weights cannot be found or downloaded."""
        from benchmark.models.pac_clip import load_pac_clip

        self._clip = load_pac_clip(self.model, self.pretrained, self.checkpoint, device, self.precision)

    def preprocessing(self) -> Preprocessing:
        """Return the model's own, see `Preprocesses`."""
        assert self._clip is not None
        return cast(Preprocessing, self._clip.preprocess)

    def extract(self, batch: Batch) -> Mapping[str, npt.NDArray[np.float32]]:
        """Return ``image`` and ``text``, each of shape (n, d)."""
        assert self._clip is not None
        return self._clip.embed_pairs(batch, [PREFIX + caption for caption in batch.texts])


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
        cosines = np.einsum("nd,nd->n", batch.features["image"], batch.features["text"])
        return np.asarray(PACSCORE_WEIGHT * np.maximum(cosines, 0.0), np.float32)
