"""The device a stage runs on, and the precision that it computes in."""

import re

import torch

from benchmark.core.errors import UserError
from benchmark.core.ranges import DEVICES

PRECISIONS = ("fp32", "bf16")


def resolve_device(name: str) -> torch.device:
    """Return the device of ``auto``, ``cpu``, ``cuda`` or ``cuda:N``. Raises `UserError` if the machine lacks it."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(DEVICES, name):
        raise UserError(f"device={name} must be auto, cpu, cuda or cuda:N")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UserError(f"device={name} asked for, but torch sees {count} GPUs; use device=cpu")
    return device


def check_precision(precision: str) -> str:
    """Return `precision`. Raises `UserError` unless it is one of `PRECISIONS`."""
    if precision not in PRECISIONS:
        raise UserError(f"precision={precision} must be {' or '.join(PRECISIONS)}")
    return precision


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Return the context of a forward pass: bf16 autocast, or for ``fp32`` one without effect.

    Raises `UserError` where the device has no instructions for bf16.
    """
    if precision == "bf16" and not _computes_bf16(device):
        raise UserError(
            "precision=bf16 needs a GPU that computes bf16, or a CPU with AMX or AVX512-BF16; this machine's"
            f" {device.type} does not: use fp32"
        )
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


def _computes_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
