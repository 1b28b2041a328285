"""Work of a launch's processes together: they wait for one another, and get what the main one has made."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, process_count, torch_distributed
from benchmark.core.locks import locked
from benchmark.core.paths import cache_folder
from benchmark.core.temporaries import temporary_beside

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
BARRIER_TIMEOUT = timedelta(days=30)


def make_accelerator(device: torch.device) -> Any:
    """Return the `accelerate.Accelerator` of this process; the precision is the caller's, see `autocast`."""
    import torch
    from accelerate import Accelerator

    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return Accelerator(cpu=device.type != "cuda", mixed_precision="no")


def process_device(device: torch.device) -> torch.device:
    """Return the device of this process: `device`, or of a launch on GPUs the one of this rank."""
    if device.type == "cpu" or process_count() == 1:
        return device
    rank_device: torch.device = make_accelerator(device).device
    return rank_device


@lru_cache(maxsize=1)
def barrier_group(device: torch.device) -> Any:
    """Return the group of all processes of a launch, whose collectives on the CPU wait for `BARRIER_TIMEOUT`."""
    make_accelerator(device)  # it initialises torch.distributed
    atexit.register(_leave)
    return torch_distributed().new_group(backend="gloo", timeout=BARRIER_TIMEOUT)


def _leave() -> None:
    """End gloo's threads before the interpreter does, which now and then aborts the process (SIGABRT)."""
    if torch_distributed().is_initialized() and torch_distributed().get_backend() == "gloo":
        torch_distributed().destroy_process_group()


def wait_for_all(device: torch.device) -> None:
    """Block until every process of a launch has called this; return at once without a launch.

    While one process scores a pool or evaluates, the others may wait for hours, so the timeout is longer than that of
    the collectives in training, which give up after minutes.
    """
    if process_count() > 1:
        torch_distributed().barrier(barrier_group(device))


@contextmanager
def main_process_first(device: torch.device) -> Iterator[None]:
    """Run the block in the main process, then in the others, which find its results in the cache."""
    if not is_main_process():
        wait_for_all(device)
    yield
    if is_main_process():
        wait_for_all(device)


@contextmanager
def one_launch(path: Path, device: torch.device) -> Iterator[None]:
    """Hold the lock of `path` for the whole launch, so that no other run writes there at the same time."""
    with locked(path) if is_main_process() else nullcontext():
        wait_for_all(device)  # until the main process holds the lock
        yield


def broadcast_from_main(value: T | None, device: torch.device) -> T:
    """Return the main process's `value`, which is picklable, in every process of a launch; theirs are ignored."""
    values = [value]
    if process_count() > 1:
        torch_distributed().broadcast_object_list(values, src=0, group=barrier_group(device))
    assert values[0] is not None
    return values[0]


def require_shared_cache(device: torch.device) -> None:
    """Raise `UserError` in a process of a launch that does not see the main process's cache, as on another node."""
    token = cache_folder("launches") / "token"
    with temporary_beside(token) if is_main_process() else nullcontext() as file:
        path = broadcast_from_main(file, device)
        is_seen = path.exists()
        wait_for_all(device)  # until every process has looked
    if not is_seen:
        raise UserError(
            f"{path.parents[2]}, the cache of the launch's main process, must be seen by all its nodes; set"
            " XDG_CACHE_HOME to a folder that they share"
        )
