"""Published models and captions on the same evaluation sets as the models trained here."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.devices import default_precision
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_file
from benchmark.core.identity import Identified
from benchmark.core.paths import user_path
from benchmark.models.checkpoints import (
    load_image_processor,
    load_model,
    load_pretrained,
    locate_checkpoint,
    quiet_transformers,
    revision,
)
from benchmark.models.clip_models import clip_identity, load_clip
from downstream.batching import chunks, pixel_batches, to_pixels
from downstream.evaluation.captioning import (
    captioning_sets,
    evaluate_captions,
    read_coco_results,
    score_captions_of_sets,
)
from downstream.evaluation.embedding import evaluate_embeddings
from downstream.evaluation.protocols import Evaluated, Sets
from downstream.metrics.base import CaptionMetric
from downstream.metrics.tokenizer import one_line
from downstream.models.base import inference

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
Vectors = npt.NDArray[np.float32]
DECODED_AT_ONCE = 256
NOT_TRAINED = "a linear probe is trained on models of this benchmark only"


class Published(Identified, ABC):
    """A model, or its captions, that was not trained here. Its public attributes but the label are its settings."""

    label: str

    def identity(self) -> dict[str, Any]:
        """Leave out the label, which is a name."""
        identity = super().identity()
        del identity["label"]
        return identity

    @abstractmethod
    def load(self, device: torch.device) -> None:
        """Load the weights. Raises `UserError` if they cannot be had."""

    @abstractmethod
    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Evaluate on every set that fits; see `Downstream.evaluate`."""


class PublishedCaptions(Published):
    """Captions in a file of COCO results, ``[{"image_id", "caption"}]``; each image's first row counts."""

    def __init__(self, path: str) -> None:
        self._path = user_path(path)
        self._captions = read_coco_results(self._path)
        self.label = self._path.name
        self.sha256 = hash_file(self._path)

    def load(self, device: torch.device) -> None:
        """Do nothing."""

    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Score the captions of every set if the file has all of its images. Raises `UserError` if there is none."""
        described = captioning_sets(sets)
        lacking = {
            s.name: [item.image_id for item in s.items if str(item.image_id) not in self._captions]
            for s in described
        }
        whole = [s for s in described if not lacking[s.name]]
        counts = ", ".join(
            f"{len(s) - len(lacking[s.name]):,} of the {len(s):,} images of {s.name}"
            for s in described
            if s not in whole
        )
        if not whole:
            raise UserError(
                f"task.captions={self._path} must have a caption of every image of a captioning set, but has"
                f" {counts or 'none to compare with'}; choose its set with evalset=..."
            )
        if counts:
            log.info("evaluate: %s has %s, which are left out", self.label, counts)
        captions = {s.name: [self._captions[str(item.image_id)] for item in s.items] for s in whole}
        return score_captions_of_sets(whole, captions, metrics, folder, device)


class PublishedCaptioner(Published):
    """A captioner in the hub's format: BLIP, BLIP-2, GIT, or an encoder and a decoder as trained here.

    Args:
        prompt: beginning of every caption, which is removed from the output.
    """

    def __init__(
        self, checkpoint: str, prompt: str, beams: int, max_new_tokens: int, batch_size: int
    ) -> None:
        self._checkpoint = checkpoint
        self.label = checkpoint.rstrip("/").rpartition("/")[2]
        self.revision = revision(locate_checkpoint(checkpoint))
        self.prompt = prompt
        self.beams = beams
        self.max_new_tokens = max_new_tokens
        self._batch_size = batch_size

    def load(self, device: torch.device) -> None:
        """Load model, image processor and tokenizer."""
        from transformers import AutoConfig, AutoModelForImageTextToText, AutoProcessor, AutoTokenizer

        config = load_pretrained(AutoConfig, self._checkpoint)
        if config.model_type == "vision-encoder-decoder":  # lacks a processor of both
            self._processor = load_image_processor(self._checkpoint)
            self._tokenizer = load_pretrained(AutoTokenizer, self._checkpoint)
        else:
            self._processor = load_pretrained(AutoProcessor, self._checkpoint)
            self._tokenizer = self._processor.tokenizer
        self._model: Any = load_model(AutoModelForImageTextToText, self._checkpoint).to(device).eval()
        self._device = device

    def caption(self, images: Iterable[Image.Image]) -> list[str]:
        """Return one caption per RGB image, each a single line."""
        captions: list[str] = []
        for chunk in chunks(images, self._batch_size):
            text = {"text": [self.prompt] * len(chunk)} if self.prompt else {}
            inputs = self._processor(images=chunk, return_tensors="pt", **text).to(self._device)
            with inference(default_precision(self._device.type), self._device), quiet_transformers():
                ids = self._model.generate(
                    **inputs, do_sample=False, num_beams=self.beams, max_new_tokens=self.max_new_tokens
                )
            texts = self._tokenizer.batch_decode(ids, skip_special_tokens=True)
            captions += [one_line(text).removeprefix(one_line(self.prompt)).strip() for text in texts]
        return captions

    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Caption the images of every set for captioning, and score the captions."""
        return evaluate_captions(self, sets, metrics, folder, device)


class PublishedClip(Published):
    """An open_clip model.

    Args:
        model: an open_clip architecture, or ``local-dir:FOLDER``, or ``hf-hub:NAME``.
        pretrained: open_clip's tag or a weights file; None for the two forms that include their weights.
    """

    def __init__(self, model: str, pretrained: str | None) -> None:
        self._model = model
        self._pretrained = pretrained
        self.label = f"{model.rstrip('/').rpartition('/')[2]} {pretrained or ''}".strip()
        self.clip = clip_identity(model, pretrained)

    def load(self, device: torch.device) -> None:
        """Load the model."""
        self._clip = load_clip(self._model, self._pretrained, device)

    def embed_images(self, images: Iterable[Image.Image]) -> Vectors:
        """Return the unit vectors of RGB `images`, (n, d)."""
        preprocess = partial(to_pixels, self._clip.processor)
        batches = pixel_batches(images, preprocess, DECODED_AT_ONCE, self._clip.device)
        return np.concatenate([self._clip.embed_pixels(pixels) for pixels in batches])

    def embed_texts(self, texts: Iterable[str]) -> Vectors:
        """Return the unit vectors of `texts`, (n, d)."""
        return self._clip.embed_texts(list(texts))

    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Evaluate on every set for retrieval, and zero-shot on every classification set."""
        return evaluate_embeddings(self, sets, NOT_TRAINED, folder)
