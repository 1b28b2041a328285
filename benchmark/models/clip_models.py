"""CLIP models of open_clip: where their weights are and what identifies them, loading, embeddings.

A model is named by its ``(model, pretrained)``: an open_clip architecture with a tag or a weights file, or
``local-dir:FOLDER`` or ``hf-hub:NAME``, which include their weights. Importing this module does not import torch.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import Batch
from benchmark.core.devices import autocast, check_precision
from benchmark.core.errors import UserError, did_you_mean, panics_as_errors
from benchmark.core.fetched_files import fetch_files
from benchmark.core.paths import user_path
from benchmark.core.pixel_workers import to_device
from benchmark.core.requirements import OnFirstUseError, Requirement, look
from benchmark.models.checkpoints import WEIGHTS, no_questions, revision
from benchmark.models.hub import on_the_hub

if TYPE_CHECKING:
    import torch

LOCAL = "local-dir:"
# open_clip takes the first that is there.
HUB_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")


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
    check_clip_model(model, pretrained)
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
    path = user_path("~/.cache/clip") / Path(tag["url"]).name  # where open_clip keeps what it fetches
    if not path.is_file():
        fetch = partial(fetch_files, {path: tag["url"]})
        raise OnFirstUseError(f"from {tag['url']}", folder=path.parent, make=fetch)
    return path


def locate_architecture(model: str) -> Path:
    """Return the config of an architecture without importing open_clip. Raises `UserError` for an unknown one."""
    if folder := local_clip_folder(model):
        return folder
    folder = Path(str(distribution("open-clip-torch").locate_file("open_clip/model_configs")))
    configs = {path.stem: path for path in folder.glob("*.json")}
    if model not in configs:
        raise UserError(f"open_clip has no model {model!r}; {did_you_mean(model, configs)}")
    return configs[model]


def check_clip_model(model: str, pretrained: str | None) -> None:
    """Raise `UserError` for an unknown model, or one without weights."""
    if model.startswith("hf-hub:"):
        return
    locate_architecture(model)
    if not pretrained and not model.startswith(LOCAL):  # open_clip would only warn, and leave random weights
        import open_clip

        tags = ", ".join(open_clip.list_pretrained_tags_by_model(model))
        raise UserError(
            f"model {model} needs weights; set pretrained, beside model (models.clip.pretrained for the pool's CLIP),"
            f" to one of {tags}, or to a weights file"
        )


@dataclass(frozen=True)
class ClipProcessor:
    """open_clip's preprocessing of images, called as the hub's image processors are."""

    preprocess: Any
    resample: int = Image.Resampling.BICUBIC

    def __call__(self, images: Sequence[Image.Image], return_tensors: str = "pt") -> dict[str, torch.Tensor]:
        """Return ``pixel_values``, (n, 3, h, w)."""
        import torch

        return {"pixel_values": torch.stack([self.preprocess(image) for image in images])}


@dataclass(frozen=True)
class ClipTokenizer:
    """open_clip's tokenizer, called as the hub's tokenizers are."""

    tokenizer: Any

    def __call__(self, texts: list[str], max_length: int, **_: Any) -> dict[str, torch.Tensor]:
        """Return ``input_ids`` and a mask of ones, each (n, max_length): CLIP pools at the end token."""
        import torch

        ids = self.tokenizer(texts, max_length)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


@dataclass(frozen=True)
class ClipModel:
    """An open_clip model in evaluation mode with its preprocessing, tokenizer and precision (fp32 or bf16)."""

    model: Any
    preprocess: Any
    tokenizer: Any
    device: torch.device
    precision: str = "fp32"

    @property
    def processor(self) -> ClipProcessor:
        """The preprocessing of images, called as the hub's image processors are."""
        return ClipProcessor(self.preprocess)

    def embed_images(self, images: Sequence[Image.Image]) -> npt.NDArray[np.float32]:
        """Return L2-normalised embeddings of shape (n, d)."""
        return _numpy(self._embed_images(images))

    def embed_pixels(self, pixels: torch.Tensor) -> npt.NDArray[np.float32]:
        """Return the embeddings of images that `preprocess` has made pixels of, (n, 3, h, w)."""
        return _numpy(self._embed_pixels(pixels))

    def embed_pairs(self, batch: Batch, texts: Sequence[str]) -> dict[str, npt.NDArray[np.float32]]:
        """Return ``image`` and ``text``, the embeddings of a batch and of its n `texts`, each of shape (n, d).

        A GPU works on the images while the texts are tokenized.
        """
        pixels = batch.pixels
        images = self._embed_images(batch.images) if pixels is None else self._embed_pixels(pixels)
        captions = self._embed_texts(texts)
        return {"image": _numpy(images), "text": _numpy([captions])}

    def _embed_images(self, images: Sequence[Image.Image]) -> list[torch.Tensor]:
        chunks = (images[start : start + self._chunk] for start in range(0, len(images), self._chunk))
        return [self._embed(self.processor(chunk)["pixel_values"]) for chunk in chunks]

    def _embed_pixels(self, pixels: torch.Tensor) -> list[torch.Tensor]:
        return [self._embed(part) for part in pixels.split(self._chunk)]

    def _embed(self, pixels: torch.Tensor) -> torch.Tensor:
        import torch

        pixels = to_device(pixels, self.device).contiguous(memory_format=torch.channels_last)
        with torch.inference_mode(), autocast(self.precision, self.device):
            embeddings: torch.Tensor = self.model.encode_image(pixels, normalize=True)
        return embeddings

    def embed_texts(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return L2-normalised embeddings of shape (n, d)."""
        return _numpy([self._embed_texts(texts)])

    def _embed_texts(self, texts: Sequence[str]) -> torch.Tensor:
        import torch

        return torch.nn.functional.normalize(self.project_texts(texts), dim=-1)

    def project_texts(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the projected outputs of the text encoder, not normalised, shape (n, d), on the device."""
        import torch

        tokens = self.tokenizer(list(texts))
        # Without the padding that no caption of a chunk needs: few have CLIP's 77 tokens.
        lengths = (tokens != 0).long().mul(torch.arange(1, tokens.shape[1] + 1)).amax(1)
        order = lengths.argsort(stable=True)
        parts = []
        with torch.no_grad(), autocast(self.precision, self.device):
            for rows in order.split(self._chunk):
                with _tokens_read(self.model, max(lengths[rows].tolist(), default=1), self.device) as count:
                    parts.append(self.model.encode_text(to_device(tokens[rows, :count], self.device)))
        return torch.cat(parts).float()[order.argsort().to(self.device)]

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
        model, pretrained: see this module.
        device: device of the model.
        precision: ``fp32``, or ``bf16``, in which matrix products have 8 significant bits: twice as fast or more.
        load_weights: False leaves random weights, for a caller that has others or trains them; the tag, if there is
            one, then determines only the preprocessing of images and the activation function.

    Raises `UserError` for unknown model or tag, weights that cannot be loaded, or no weights named at all; an unknown
    precision, or a precision that the device does not compute.
    """
    import open_clip
    import torch

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


@contextmanager
def _tokens_read(model: Any, longest: int, device: torch.device) -> Iterator[int | None]:
    """Let the text tower read captions of `longest` tokens; yield how many it reads, None if it takes all padding.

    Padding after the end token has no effect on a causal tower that is pooled at this token.
    """
    tower = getattr(model, "text", model)
    pooling = getattr(tower, "text_pool_type", getattr(tower, "pool_type", None))
    mask = getattr(tower, "attn_mask", None)
    if mask is None or getattr(tower, "cls_emb", None) is not None or pooling not in ("argmax", "eos"):
        yield None
        return
    # On a GPU few lengths, as a new shape may take longer than its work.
    count = min(len(mask), -(-longest // 8) * 8 if device.type == "cuda" else longest)
    positions = tower.positional_embedding
    tower._parameters["positional_embedding"] = positions[:count]
    tower._buffers["attn_mask"] = mask[:count, :count]
    try:
        yield count
    finally:
        tower._parameters["positional_embedding"] = positions
        tower._buffers["attn_mask"] = mask


def _numpy(parts: list[torch.Tensor]) -> npt.NDArray[np.float32]:
    import torch

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
