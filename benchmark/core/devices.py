"""The device a stage runs on, and the precision that it computes in; torch is imported when one is asked for."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from benchmark.core.errors import UserError

if TYPE_CHECKING:
    import torch

PRECISIONS = ("fp32", "bf16")  # of filters
Device: TypeAlias = "torch.device"  # for annotations in modules that do not import torch


def has_gpu() -> bool:
    """Return whether torch sees a GPU; on a machine without a GPU's driver torch is not imported to ask it."""
    if "torch" not in sys.modules and not Path("/dev/kfd").exists():  # AMD's
        try:
            ctypes.CDLL("libcuda.so.1")
        except OSError:
            return False
    return resolve_device("auto").type == "cuda"


def device_type(name: str) -> str:
    """Return ``cpu`` or ``cuda`` as `resolve_device` does; without a GPU's driver torch is not imported for it."""
    if name == "cpu" or (name == "auto" and not has_gpu()):
        return "cpu"
    return resolve_device(name).type


def resolve_device(name: str) -> torch.device:
    """Return the device of ``auto``, ``cpu``, ``cuda`` or ``cuda:N``. Raises `UserError` if the machine lacks it."""
    import torch

    # cuDNN's attention, which torch prefers on Hopper and Blackwell, makes a plan for every new shape: half a second,
    # and captions have a new shape in every batch.
    torch.backends.cuda.enable_cudnn_sdp(False)
    # Else cuDNN computes convolutions in fp32 with 10 bits of precision; see `tf32`.
    torch.backends.cudnn.allow_tf32 = False
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UserError(f"device={name} asked for, but torch sees {count} GPUs; use device=cpu")
    return device


def default_precision(device: str) -> str:
    """Return the precision on ``"cpu"`` or ``"cuda"`` where none is asked for: bf16 on a GPU that computes it."""
    return "bf16" if device == "cuda" and _computes_bf16(device) else "fp32"


def default_dtype(device: torch.device) -> torch.dtype:
    """Return the type of the weights of large models on `device`: bf16 on a GPU that computes it, else float32."""
    import torch

    return torch.bfloat16 if default_precision(device.type) == "bf16" else torch.float32


def check_precision(precision: str) -> str:
    """Return `precision`. Raises `UserError` unless it is one of `PRECISIONS`."""
    if precision not in PRECISIONS:
        raise UserError(f"precision={precision} must be {' or '.join(PRECISIONS)}")
    return precision


def check_computed(precision: str, device: str) -> None:
    """Raise `UserError` where ``"cpu"`` or ``"cuda"`` lacks instructions for `precision`; fp32 imports no torch."""
    if precision == "tf32" and not (device == "cuda" and _computes_tf32()):
        raise UserError(
            "precision=tf32 needs a GPU that computes TF32 (NVIDIA Ampere or newer); this machine's"
            f" {device} does not: use fp32"
        )
    if precision == "bf16" and not _computes_bf16(device):
        raise UserError(
            "precision=bf16 needs a GPU that computes bf16, or a CPU with AMX or AVX512-BF16; this machine's"
            f" {device} does not: use fp32"
        )


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """Return the context of a forward pass: bf16 autocast, or for ``fp32`` and ``tf32`` one without effect.

    Raises `UserError` if the device does not compute the precision.
    """
    import torch

    check_computed(precision, device.type)
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")


@contextmanager
def tf32(enabled: bool) -> Iterator[None]:
    """Compute products of fp32 matrices and convolutions on a GPU in TF32 only if `enabled`, backward too."""
    import torch

    # Not by their newer name, `fp32_precision`: after it torch (2.11 to 2.15) refuses to read these, as its compiler
    # does.
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    try:
        matmul.allow_tf32, cudnn.allow_tf32 = enabled, enabled
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def _computes_tf32() -> bool:
    import torch

    return torch.cuda.is_tf32_supported()


def _computes_bf16(device: str) -> bool:
    import torch

    if device == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
