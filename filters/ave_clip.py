"""aveCLIP: CLIP similarity of a caption and images generated from it (Wu and Smith 2023; ICC paper, section 3.2)."""

from typing import ClassVar

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.ranges import PositiveInt
from filters.base import Filter, Scores
from filters.clip import ClipReader
from filters.icc.autoencoder import caption_seed
from filters.icc.vba import TextToImage


class AveClip(ClipReader, Filter):
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
        super().__init__(model, pretrained, precision)
        self.images = images
        self.painter = TextToImage(checkpoint, steps, guidance)

    def setup(self, device: Device) -> None:
        """Load both models."""
        super().setup(device)
        self.painter.setup(device)

    def score(self, batch: Batch) -> Scores:
        """Return mean cosines of shape (n,)."""
        captions = [text for text in batch.texts for _ in range(self.images)]
        seeds = [caption_seed(text, number) for text in batch.texts for number in range(self.images)]
        images = self.clip.embed_images(self.painter.generate(captions, seeds))
        images = images.reshape(len(batch), self.images, -1)
        texts = self.clip.embed_texts(batch.texts)
        return np.asarray(np.einsum("nkd,nd->n", images, texts) / self.images, np.float32)
