"""The device a stage runs on."""

import torch

from benchmark.core.errors import UserError


def resolve_device(name: str) -> torch.device:
    """Return the device of ``auto``, ``cpu``, ``cuda`` or ``cuda:N``. Raises `UserError` if the machine lacks it."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise UserError(f"device={name} must be auto, cpu, cuda or cuda:N") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        count = torch.cuda.device_count()
        raise UserError(f"device={name} asked for, but torch sees {count} GPUs; use device=cpu")
    return device
