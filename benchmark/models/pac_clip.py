"""The CLIP of PAC-S (Sarto et al. 2023) and PAC-S++ (2024): the papers' checkpoints, and small ones over a base.

A ``.pth`` is one of the papers' files: ``state_dict`` holds every weight of the CLIP, under the names that OpenAI
and open_clip share; those of PAC-S++ also hold LoRA factors. A ``.safetensors`` holds only the tensors that the
fine-tuning changed, and its ``(model, pretrained)`` the rest.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from benchmark.core.errors import UserError
from benchmark.models.checkpoints import read_weights, revision
from benchmark.models.clip_models import ClipModel, clip_revision, load_clip

PREFIX = "A photo depicts "  # before every caption (as in CLIPScore)
PACSCORE_WEIGHT = 2.0  # of the clipped cosine, where CLIPScore's is 2.5
LORA_ALPHA = 1.0  # not stored; the rank (4) shows in the factors' shapes
JIT_SIZES = {"input_resolution", "context_length", "vocab_size"}  # numbers that OpenAI's archives carry along
WHERE = (
    "get clip_ViT-B-32.pth, openClip_ViT-L-14.pth, PAC++_clip_ViT-B-32.pth or PAC++_clip_ViT-L-14.pth "
    "by the links of https://github.com/aimagelab/pacscore and set models.pacscore.checkpoint to the file"
)


def load_pac_clip(
    model: str, pretrained: str | None, checkpoint: str | None, device: torch.device
) -> ClipModel:
    """Load a PAC-S checkpoint.

    Args:
        model: open_clip's name of the CLIP that was fine-tuned, as for `load_clip`.
        pretrained: its tag. Over a whole checkpoint it only says how images are prepared, and which activation
            the network has: ``openai`` for ViT-B-32 and for PAC-S++, ``laion2b_s32b_b82k`` for openClip_ViT-L-14.
        checkpoint: a ``.pth`` or ``.safetensors`` file.
        device: where it runs.

    Raises:
        UserError: no such file, no weights in it, or those of another model; also what `load_clip` raises.
    """
    path = locate_pac_checkpoint(checkpoint)
    partial = path.suffix == ".safetensors"
    weights = _read(path)
    clip = load_clip(model, pretrained, device, load_weights=partial)
    try:
        weights = merge_lora(weights)
        unknown = weights.keys() - clip.model.state_dict().keys()
        if unknown:
            raise KeyError(f"unknown weight {min(unknown)}")
        clip.model.load_state_dict(weights, strict=not partial)
    except (RuntimeError, KeyError, ZeroDivisionError) as error:
        raise UserError(f"{path} does not fit the model {model}: {_reason(error)}; {WHERE}") from None
    return clip


def locate_pac_checkpoint(checkpoint: str | None) -> Path:
    """Return the file. Raises `UserError` that says where to get it."""
    if checkpoint is None:
        raise UserError(f"PAC-S needs its authors' weights: {WHERE}")
    path = Path(checkpoint).expanduser()
    if not path.is_file():
        raise UserError(f"checkpoint {checkpoint} is not there; {WHERE}")
    return path


def pac_revision(model: str, checkpoint: str | None) -> dict[str, str]:
    """Return what identifies the weights: a hash of the checkpoint, and the base's where it is a folder."""
    return clip_revision(model) | {"checkpoint_revision": revision(locate_pac_checkpoint(checkpoint))}


def merge_lora(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights without LoRA factors, each ``W + B A * alpha / r`` where its authors' code adds them.

    That is in attention (``in_proj_weight_lora_A``, ``out_proj.lora_A``) and in the patch convolution. In the MLPs
    their layers count as merged before the checkpoint is loaded, so that its weights are used as they are stored;
    we do the same, as the published figures are of that.

    Raises:
        KeyError: a factor without the other, or without its weight.
        RuntimeError, ZeroDivisionError: factors of other shapes than the weight's, or of none.
    """
    merged = {name: tensor for name, tensor in weights.items() if "lora_" not in name}
    for name, down in weights.items():
        if not name.endswith("lora_A") or ".mlp." in name:
            continue
        up = weights[name.removesuffix("A") + "B"]
        # in_proj_weight is a parameter of its module, the others are modules with a weight.
        inner = name.endswith("_lora_A")
        target = name.removesuffix("_lora_A") if inner else name.removesuffix("lora_A") + "weight"
        weight = merged[target].float()
        # A convolution's factors have `kernel` rows for each of the r.
        rank = len(down) // (weight.shape[-1] if weight.ndim == 4 else 1)
        merged[target] = weight + (up.float() @ down.float()).view_as(weight) * (LORA_ALPHA / rank)
    return merged


def _read(path: Path) -> dict[str, Tensor]:
    try:
        content = read_weights(path)
    except UserError as error:
        raise UserError(f"{error}; {WHERE}") from None
    if path.suffix == ".safetensors":
        return content
    state = content.get("state_dict")
    weights = {k: v for k, v in state.items() if k not in JIT_SIZES} if isinstance(state, dict) else {}
    if not weights or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise UserError(f"{path} holds no state_dict; {WHERE}")
    return weights


def _reason(error: Exception) -> str:
    """Return the first line that says something: torch begins with the class of the network."""
    lines = [line.strip() for line in str(error.args[0] if error.args else "").splitlines()]
    said = [line for line in lines if line and not line.startswith("Error(s) in loading")]
    return said[0][:200] if said else type(error).__name__
