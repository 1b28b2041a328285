"""Writes trained models in the hub's format, weights in half precision."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from benchmark.core.paths import atomic_write

MODELS = Path(__file__).resolve().parents[2] / "pairsift" / "demo" / "models"  # the shipped scale models


def save_transformers(model: Any, folder: Path) -> None:
    """Write a transformers model as `config.json` and `model.safetensors` (float16).

    The config keeps dtype float32, so that `from_pretrained` loads single precision: float16 is only for storage, as
    fine-tuning in it would diverge.
    """
    model.to("cpu").save_pretrained(folder)
    # save_pretrained writes tied weights once; reading its file back keeps the names that it chose for them.
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    save_half(load_file(path), path)


def save_half(tensors: dict[str, Tensor], path: Path) -> None:
    """Write `tensors` to a safetensors file, floating-point tensors as float16."""
    half = {
        name: (tensor.to(torch.float16) if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in tensors.items()
    }
    with atomic_write(path) as temporary:
        save_file(half, temporary, metadata={"format": "pt"})
