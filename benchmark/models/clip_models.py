"""Embeddings of images and captions by any open_clip model, named by its ``(model, pretrained)``."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.devices import autocast, check_precision
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.requirements import OnFirstUseError, Requirement, look
from benchmark.models.checkpoints import WEIGHTS, on_the_hub, revision

LOCAL = "local-dir:"
# open_clip takes the first that is there.
HUB_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")


@dataclass(frozen=True)
class ClipModel:
    """An open_clip model in evaluation mode with its preprocessing, tokenizer and precision (fp32 or bf16)."""

    model: Any
    preprocess: Any
    tokenizer: Any
    device: torch.device
    precision: str = "fp32"

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """Return L2-normalised embeddings of shape (n, d)."""
        parts = []
        for start in range(0, len(images), self._chunk):
            pixels = torch.stack([self.preprocess(image) for image in images[start : start + self._chunk]])
            parts.append(self._embed(pixels))
        return _numpy(parts)

    @torch.inference_mode()
    def embed_pixels(self, pixels: torch.Tensor) -> npt.NDArray[np.float32]:
        """Return the embeddings of images that `preprocess` has made pixels of, (n, 3, h, w)."""
        return _numpy([self._embed(part) for part in pixels.split(self._chunk)])

    def _embed(self, pixels: torch.Tensor) -> torch.Tensor:
        # The copy from pinned memory does not wait for what the GPU is computing.
        pixels = pixels.to(self.device, memory_format=torch.channels_last, non_blocking=True)
        with autocast(self.precision, self.device):
            embeddings: torch.Tensor = self.model.encode_image(pixels, normalize=True)
        return embeddings

    def embed_batch(self, batch: Batch) -> npt.NDArray[np.float32]:
        """Return the embeddings of a batch with images or with their pixels."""
        return self.embed_images(batch.images) if batch.pixels is None else self.embed_pixels(batch.pixels)

    def embed_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return L2-normalised embeddings of shape (n, d)."""
        return _numpy([torch.nn.functional.normalize(self.project_texts(texts), dim=-1)])

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


def local_clip_folder(model: str) -> Path | None:
    """Return the folder of a ``local-dir:`` model. Raises `UserError` when it is not there."""
    if not model.startswith(LOCAL):
        return None
    folder = Path(model.removeprefix(LOCAL))
    if not (folder / "open_clip_config.json").is_file():
        raise UserError(f"checkpoint {folder} is not there; give a folder with an open_clip_config.json")
    return folder


def clip_revision(model: str) -> dict[str, str]:
    """Return the revision of a ``local-dir:`` model; empty for others, whose name and tag identify the weights."""
    folder = local_clip_folder(model)
    return {"revision": revision(folder)} if folder else {}


def clip_identity(model: str, pretrained: str | None) -> dict[str, str | None]:
    """Return `model` and `pretrained` for a cache key: a folder or file by the revision of its content."""
    folder = local_clip_folder(model)
    weights = Path(pretrained) if pretrained else None
    return {
        "model": revision(folder) if folder else model,
        "pretrained": revision(weights) if weights and weights.is_file() else pretrained,
    }


def clip_requirement(model: str, pretrained: str | None) -> Requirement:
    """Return whether the weights that `load_clip` would load are on this machine, or how large their download is."""
    name = f"CLIP {Path(model).name} {Path(pretrained).name if pretrained else ''}".strip()
    return look(name, lambda: _locate_weights(model, pretrained))


def _locate_weights(model: str, pretrained: str | None) -> Path:
    """Return the file or folder of the weights. Raises `UserError`, or `OnFirstUseError` for a download."""
    if folder := local_clip_folder(model):
        if not any(path for pattern in WEIGHTS for path in folder.glob(pattern)):
            raise UserError(f"checkpoint {folder} holds no weights; copy or download it again")
        return folder
    if pretrained and Path(pretrained).is_file():
        return Path(pretrained)
    _check_model(model, pretrained)
    if model.startswith("hf-hub:"):
        return on_the_hub(model.removeprefix("hf-hub:"), HUB_FILES)
    from open_clip import get_pretrained_cfg, list_pretrained_tags_by_model

    tag = get_pretrained_cfg(model, pretrained or "")
    if not tag:
        tags = list_pretrained_tags_by_model(model)
        raise UserError(
            f"model {model} has no weights {pretrained!r}, nor is that a file; {did_you_mean(str(pretrained), tags)}"
        )
    if tag.get("hf_hub"):
        repository, _, file = str(tag["hf_hub"]).rpartition("/")
        return on_the_hub(repository, (file,) if file else HUB_FILES)
    path = Path.home() / ".cache" / "clip" / Path(tag["url"]).name  # where open_clip keeps what it fetches
    if not path.is_file():
        raise OnFirstUseError(f"from {tag['url']}", folder=path.parent)
    return path


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
        device: where it runs.
        precision: ``fp32``, or ``bf16``, in which matrix products have 8 significant bits: twice as fast or more.
        load_weights: False leaves random weights, for a caller that has others; the tag, if there is one, then
            determines only the preprocessing of images and the activation function.

    Raises:
        UserError: unknown model or tag, weights that cannot be loaded, or no weights named at all; an unknown
            precision, or one that the device does not compute.
    """
    import open_clip

    _check_model(model, pretrained)
    autocast(check_precision(precision), device)  # refuses before the weights are loaded
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        # open_clip only warns when the weights want QuickGELU (OpenAI's do) and the architecture's name does not.
        tag = open_clip.get_pretrained_cfg(model, pretrained or "")
        options: dict[str, Any] = {"device": device, "force_quick_gelu": bool(tag.get("quick_gelu"))}
        if load_weights:
            network, _, preprocess = open_clip.create_model_and_transforms(
                model, pretrained=pretrained, weights_only=True, **options
            )
        else:
            options |= {"image_mean": tag.get("mean"), "image_std": tag.get("std")}
            with _errors_only():  # it would warn of random weights
                network, _, preprocess = open_clip.create_model_and_transforms(
                    model, load_weights=False, **options
                )
        tokenizer = open_clip.get_tokenizer(model)
    except (RuntimeError, OSError, ValueError) as error:  # an unknown tag, no network, a broken file
        reason = str(error).split("\n")[0][:200]
        raise UserError(f"CLIP {model} / {pretrained} cannot be loaded: {reason}") from None
    network.eval().to(memory_format=torch.channels_last)
    return ClipModel(network, preprocess, tokenizer, device, precision)


def _check_model(model: str, pretrained: str | None) -> None:
    """Raise `UserError` for an unknown model, or one without weights."""
    import open_clip

    if local_clip_folder(model) or model.startswith("hf-hub:"):
        return
    if model not in open_clip.list_models():
        raise UserError(f"open_clip has no model {model!r}; {did_you_mean(model, open_clip.list_models())}")
    if not pretrained:  # open_clip would only warn, and leave random weights
        tags = ", ".join(open_clip.list_pretrained_tags_by_model(model))
        raise UserError(
            f"model {model} needs weights; set pretrained, beside model (models.clip.pretrained for the pool's CLIP),"
            f" to one of {tags}, or to a weights file"
        )


def _numpy(parts: list[torch.Tensor]) -> npt.NDArray[np.float32]:
    return torch.cat(parts).float().cpu().numpy()


@contextmanager
def _errors_only() -> Iterator[None]:
    root = logging.getLogger()  # open_clip has no logger of its own
    level = root.level
    root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(level)
