"""Writing a trained model in the hub's format, weights in half precision."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from benchmark.core.paths import atomic_write


def save_transformers(model: Any, folder: Path) -> None:
    """Write a transformers model as `config.json` and `model.safetensors` (float16).

    The config says float32, which is what `from_pretrained` then loads: half precision is only how the file
    is stored, as training in it would diverge.
    """
    model.to("cpu").save_pretrained(folder)
    # Tied weights are one tensor in what save_pretrained wrote; reading that back keeps its choice of names.
    from safetensors.torch import load_file

    path = folder / "model.safetensors"
    save_half(load_file(path), path)


def save_half(tensors: dict[str, Tensor], path: Path) -> None:
    """Write `tensors` to a safetensors file, floating ones as float16."""
    half = {
        name: (tensor.to(torch.float16) if tensor.is_floating_point() else tensor).contiguous()
        for name, tensor in tensors.items()
    }
    with atomic_write(path) as temporary:
        save_file(half, temporary, metadata={"format": "pt"})
