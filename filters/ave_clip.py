"""aveCLIP: CLIP similarity of a caption and images generated from it (Wu and Smith 2023; ICC paper, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device, check_precision
from benchmark.core.ranges import PositiveInt
from benchmark.core.requirements import Requirement
from benchmark.models.clip_weights import clip_identity, clip_requirement
from filters.base import Filter, Scores
from filters.icc.autoencoder import caption_seed
from filters.icc.vba import TextToImage

if TYPE_CHECKING:
    from benchmark.models.clip_models import ClipModel


class AveClip(Filter):
    """Mean CLIP cosine between a caption and `images` images that a text-to-image model generates from it.

    Args:
        checkpoint: the text-to-image model, see `TextToImage`.
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        images: number of images per caption.
        steps: sampling steps.
        guidance: scale of classifier-free guidance.
        precision: ``fp32`` or ``bf16`` of CLIP, see `load_clip`.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 8  # captions, each with several images

    def __init__(
        self,
        checkpoint: str,
        model: str,
        pretrained: str | None,
        images: PositiveInt = 10,
        steps: PositiveInt = 20,
        guidance: float = 9.0,
        precision: str = "fp32",
    ) -> None:
        self.images = images
        self.model = model
        self.pretrained = pretrained
        self.precision = check_precision(precision)
        self.painter = TextToImage(checkpoint, steps, guidance)
        self._clip: ClipModel | None = None

    def identity(self) -> dict[str, Any]:
        """Identify CLIP's local weights by their content, wherever they lie."""
        return super().identity() | clip_identity(self.model, self.pretrained)

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights of both models."""
        yield from super().requirements()
        yield clip_requirement(self.model, self.pretrained)

    def setup(self, device: Device) -> None:
        """Load both models."""
        from benchmark.models.clip_models import load_clip

        self.painter.setup(device)
        self._clip = load_clip(self.model, self.pretrained, device, self.precision)

    def score(self, batch: Batch) -> Scores:
        """Return mean cosines of shape (n,)."""
        assert self._clip is not None
        captions = [text for text in batch.texts for _ in range(self.images)]
        seeds = [caption_seed(text, number) for text in batch.texts for number in range(self.images)]
        images = self._clip.embed_images(self.painter.generate(captions, seeds))
        images = images.reshape(len(batch), self.images, -1)
        texts = self._clip.embed_texts(batch.texts)
        return np.asarray(np.einsum("nkd,nd->n", images, texts) / self.images, np.float32)
