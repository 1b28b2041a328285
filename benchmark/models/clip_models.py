"""Embeddings of images and captions by any open_clip model, named by its ``(model, pretrained)``."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.devices import autocast, check_precision
from benchmark.core.errors import UserError, panics_as_errors
from benchmark.models.checkpoints import no_questions
from benchmark.models.clip_weights import check_clip_model


@dataclass(frozen=True)
class ClipModel:
    """An open_clip model in evaluation mode with its preprocessing, tokenizer and precision (fp32 or bf16)."""

    model: Any
    preprocess: Any
    tokenizer: Any
    device: torch.device
    precision: str = "fp32"

    def embed_images(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """Return L2-normalised embeddings of shape (n, d)."""
        return _numpy(self._embed_images(images))

    def embed_pixels(self, pixels: torch.Tensor) -> npt.NDArray[np.float32]:
        """Return the embeddings of images that `preprocess` has made pixels of, (n, 3, h, w)."""
        return _numpy(self._embed_pixels(pixels))

    def embed_batch(self, batch: Batch) -> npt.NDArray[np.float32]:
        """Return the embeddings of the images of a batch, or of their pixels."""
        return _numpy(self._embed_batch(batch))

    def embed_pairs(self, batch: Batch, texts: Sequence[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Return ``image`` and ``text``, the embeddings of a batch and of its n `texts`, each of shape (n, d).

        A GPU works on the images while the texts are tokenized.
        """
        images, captions = self._embed_batch(batch), self._embed_texts(texts)
        return {"image": _numpy(images), "text": _numpy([captions])}

    def _embed_batch(self, batch: Batch) -> list[torch.Tensor]:
        return self._embed_images(batch.images) if batch.pixels is None else self._embed_pixels(batch.pixels)

    def _embed_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        chunks = (images[start : start + self._chunk] for start in range(0, len(images), self._chunk))
        return [self._embed(torch.stack([self.preprocess(image) for image in chunk])) for chunk in chunks]

    def _embed_pixels(self, pixels: torch.Tensor) -> list[torch.Tensor]:
        return [self._embed(part) for part in pixels.split(self._chunk)]

    @torch.inference_mode()
    def _embed(self, pixels: torch.Tensor) -> torch.Tensor:
        pixels = pixels.to(self.device, memory_format=torch.channels_last, non_blocking=True)
        with autocast(self.precision, self.device):
            embeddings: torch.Tensor = self.model.encode_image(pixels, normalize=True)
        return embeddings

    def embed_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return L2-normalised embeddings of shape (n, d)."""
        return _numpy([self._embed_texts(texts)])

    def _embed_texts(self, texts: Sequence[str]) -> torch.Tensor:
        return torch.nn.functional.normalize(self.project_texts(texts), dim=-1)

    @torch.no_grad()
    def project_texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the projected outputs of the text encoder, not normalised, shape (n, d), on the device."""
        parts = []
        for tokens in self.tokenizer(list(texts)).split(self._chunk):
            with autocast(self.precision, self.device):
                parts.append(self.model.encode_text(tokens.to(self.device)))
        return torch.cat(parts).float()

    @property
    def _chunk(self) -> int:
        """Samples per forward pass: on a CPU, activations of few samples stay in its caches (1.4 times faster)."""
        return 256 if self.device.type == "cuda" else 32


def load_clip(
    model: str,
    pretrained: str | None,
    device: torch.device,
    precision: str = "fp32",
    *,
    load_weights: bool = True,
) -> ClipModel:
    """Load an open_clip model.

    Args:
        model: an open_clip architecture, or ``local-dir:FOLDER``, or ``hf-hub:NAME``.
        pretrained: open_clip's tag or a weights file; None for the two forms that include their weights.
        device: device of the model.
        precision: ``fp32``, or ``bf16``, in which matrix products have 8 significant bits: twice as fast or more.
        load_weights: False leaves random weights, for a caller that has others or trains them; the tag, if there is
            one, then determines only the preprocessing of images and the activation function.

    Raises `UserError` for unknown model or tag, weights that cannot be loaded, or no weights named at all; an unknown
    precision, or a precision that the device does not compute.
    """
    import open_clip

    if load_weights:
        check_clip_model(model, pretrained)
    autocast(check_precision(precision), device)  # refuses before the weights are loaded
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    failure = f"CLIP {model} / {pretrained} cannot be loaded"
    try:
        # open_clip only warns when the weights want QuickGELU (OpenAI's do) and the architecture's name does not.
        tag = open_clip.get_pretrained_cfg(model, pretrained or "")
        options: dict[str, Any] = {"device": device, "force_quick_gelu": bool(tag.get("quick_gelu"))}
        text_settings = open_clip.get_model_config(model)["text_cfg"]
        asked = no_questions() if "hf_model_name" in text_settings else nullcontext()
        with panics_as_errors(failure), asked:
            if load_weights:  # all of them: open_clip loads strictly
                network, preprocess = open_clip.create_model_from_pretrained(
                    model, pretrained, weights_only=True, **options
                )
            else:
                options |= {"image_mean": tag.get("mean"), "image_std": tag.get("std")}
                with _errors_only():  # it would warn of random weights
                    network, _, preprocess = open_clip.create_model_and_transforms(
                        model, load_weights=False, pretrained_text=False, **options
                    )
            # A config may ask for a tokenizer whose Python comes with the weights; this is never run.
            refused = {"trust_remote_code": False} if text_settings.get("hf_tokenizer_name") else {}
            tokenizer = open_clip.get_tokenizer(model, **refused)
    except (RuntimeError, OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        # An unknown tag, no network, a broken file, a config with other fields.
        reason = str(error).split("\n")[0][:200]
        raise UserError(f"{failure}: {reason}") from None
    network.eval().to(memory_format=torch.channels_last)
    return ClipModel(network, preprocess, tokenizer, device, precision)


def _numpy(parts: list[torch.Tensor]) -> npt.NDArray[np.float32]:
    return torch.cat(parts).float().cpu().numpy()


@contextmanager
def _errors_only() -> Iterator[None]:
    root = logging.getLogger()  # open_clip logs to the root logger
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
