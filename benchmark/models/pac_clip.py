"""The CLIP of PAC-S (Sarto et al. 2023) and PAC-S++ (2024): the papers' checkpoints, and partial checkpoints.

A ``.pth`` is one of the papers' files: its ``state_dict`` holds every weight of the CLIP, under the names that OpenAI
and open_clip share, and in PAC-S++ also LoRA factors. A ``.safetensors`` holds only the tensors that the fine-tuning
changed; the others come from ``(model, pretrained)``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.core.errors import UserError
from benchmark.core.paths import user_path
from benchmark.core.requirements import Requirement, State, look
from benchmark.models.checkpoints import read_weights, revision
from benchmark.models.clip_models import (
    ClipModel,
    check_clip_model,
    clip_requirement,
    clip_revision,
    load_clip,
)

if TYPE_CHECKING:
    import torch
    from torch import Tensor

PREFIX = "A photo depicts "  # before every caption (as in CLIPScore)
PACSCORE_WEIGHT = 2.0  # factor of the clipped cosine; CLIPScore has 2.5
PAC_WEIGHTS = "PAC-S weights"
WHERE = (
    "get clip_ViT-B-32.pth, openClip_ViT-L-14.pth, PAC++_clip_ViT-B-32.pth or PAC++_clip_ViT-L-14.pth "
    "by the links of https://github.com/aimagelab/pacscore and set models.pacscore.checkpoint to the file"
)
LORA_ALPHA = 1.0  # not stored in the checkpoints; the rank (4) follows from the factors' shapes
# Entries of OpenAI's archives that are not weights.
JIT_SIZES = {"input_resolution", "context_length", "vocab_size"}


def locate_pac_checkpoint(checkpoint: str | None) -> Path:
    """Return the path of the checkpoint. Raises `UserError`, which says where to get it, if it is absent."""
    if checkpoint is None:
        raise UserError(f"models.pacscore.checkpoint is null, and PAC-S needs its authors' weights: {WHERE}")
    path = user_path(checkpoint)
    if not path.is_file():
        raise UserError(f"checkpoint {checkpoint} is not there; {WHERE}")
    return path


def pac_requirements(model: str, pretrained: str | None, checkpoint: str | None) -> Iterator[Requirement]:
    """Yield the checkpoint, and the weights of the base model if the checkpoint is partial."""
    own = look(PAC_WEIGHTS, lambda: locate_pac_checkpoint(checkpoint))
    yield own
    if own.state is State.PRESENT and is_partial(Path(own.detail)):
        yield clip_requirement(model, pretrained)


def is_partial(checkpoint: Path) -> bool:
    """Return whether the file holds only the tensors that the fine-tuning changed."""
    return checkpoint.suffix == ".safetensors"


def pac_revision(model: str, checkpoint: str | None) -> dict[str, str]:
    """Return the revisions that identify the weights: the checkpoint's, and the base model's if it is a folder."""
    return clip_revision(model) | {"checkpoint_revision": revision(locate_pac_checkpoint(checkpoint))}


def load_pac_clip(
    model: str, pretrained: str | None, checkpoint: str | None, device: torch.device, precision: str = "fp32"
) -> ClipModel:
    """Load a PAC-S checkpoint.

    Args:
        model: open_clip's name of the CLIP that was fine-tuned, as for `load_clip`.
        pretrained: its tag. With a whole checkpoint it determines only the preprocessing of images and the activation
            function: ``openai`` for ViT-B-32 and for PAC-S++, ``laion2b_s32b_b82k`` for openClip_ViT-L-14.
        checkpoint: a ``.pth`` or ``.safetensors`` file.
        device: device of the model.
        precision: as for `load_clip`.

    Raises `UserError` if the file is missing, lacks weights, or has those of another model; also as `load_clip`.
    """
    path = locate_pac_checkpoint(checkpoint)
    partial = is_partial(path)
    weights = _read(path)
    check_clip_model(model, pretrained)
    clip = load_clip(model, pretrained, device, precision, load_weights=partial)
    try:
        weights = merge_lora(weights)
        unknown = weights.keys() - clip.model.state_dict().keys()
        if unknown:
            raise KeyError(f"unknown weight {min(unknown)}")
        clip.model.load_state_dict(weights, strict=not partial)
    except (RuntimeError, KeyError, ZeroDivisionError) as error:
        reason = (
            str(error.args[0]).strip().split("\n")[-1].strip()
        )  # the first line of torch names only the class
        raise UserError(f"{path} does not fit the model {model}: {reason[:200]}; {WHERE}") from None
    return clip


def merge_lora(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights with LoRA factors merged, ``W + B A * alpha / r``, in the same layers as the authors' code.

    It does so in attention (``in_proj_weight_lora_A``, ``out_proj.lora_A``) and in the patch convolution. In the MLPs
    it treats the layers as already merged and uses the weights as stored; so do we, since the published results were
    computed that way.

    Raises:
        KeyError: a factor without its partner, or without its weight.
        RuntimeError, ZeroDivisionError: factors whose shapes do not fit the weight, or that are empty.
    """
    merged = {name: tensor for name, tensor in weights.items() if "lora_" not in name}
    for name, down in weights.items():
        if not name.endswith("lora_A") or ".mlp." in name:
            continue
        up = weights[name.removesuffix("A") + "B"]
        # in_proj_weight is a parameter of its module; the others are modules that have a weight.
        inner = name.endswith("_lora_A")
        target = name.removesuffix("_lora_A") if inner else name.removesuffix("lora_A") + "weight"
        weight = merged[target].float()
        # The factors of a convolution have `kernel` rows per rank.
        rank = len(down) // (weight.shape[-1] if weight.ndim == 4 else 1)
        merged[target] = weight + (up.float() @ down.float()).view_as(weight) * (LORA_ALPHA / rank)
    return merged


def _read(path: Path) -> dict[str, Tensor]:
    try:
        content = read_weights(path)
    except UserError as error:
        raise UserError(f"{error}; {WHERE}") from None
    if is_partial(path):
        return content
    from torch import Tensor

    state = content.get("state_dict")
    weights = {k: v for k, v in state.items() if k not in JIT_SIZES} if isinstance(state, dict) else {}
    if not weights or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise UserError(f"{path} holds no state_dict; {WHERE}")
    return weights
