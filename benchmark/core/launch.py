"""The processes of one ``accelerate launch``: what is done once the main one does, while the others wait."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.core.locks import locked

# Only for annotations: a misspelt command should be answered before torch is imported.
if TYPE_CHECKING:
    import torch

PATIENCE = timedelta(days=30)


def is_main_process() -> bool:
    """Tell whether this process speaks for the run: the only one, or rank 0 of a launch."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def main_process_first(device: torch.device) -> Iterator[None]:
    """Run the block in the main process, then in the others, which find in the cache what it has made."""
    if not is_main_process():
        wait_for_all(device)
    yield
    if is_main_process():
        wait_for_all(device)


def wait_for_all(device: torch.device) -> None:
    """Wait until every process of a launch is here; return at once where there is no launch.

    While one scores a pool or evaluates, the others may wait for hours: the collectives of a training give up after
    minutes.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        import torch

        torch.distributed.barrier(_patient_group(device))


@contextmanager
def one_launch(path: Path, device: torch.device) -> Iterator[None]:
    """Have no other run, of one process or of many, make what is at `path` meanwhile."""
    with locked(path) if is_main_process() else nullcontext():
        wait_for_all(device)  # for the main process to have the lock
        yield


def make_accelerator(device: torch.device) -> Any:
    """Return the accelerator of this process: bf16 on GPUs, all processes of a launch, or just this one."""
    import torch
    from accelerate import Accelerator

    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    on_gpu = device.type == "cuda"
    return Accelerator(cpu=not on_gpu, mixed_precision="bf16" if on_gpu else "no")


@lru_cache(maxsize=1)
def _patient_group(device: torch.device) -> Any:
    import torch

    make_accelerator(device)  # it starts the group that training uses
    return torch.distributed.new_group(backend="gloo", timeout=PATIENCE)
