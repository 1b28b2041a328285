"""Coordination of the processes of one launch by ``torchrun``: the main one works while the others wait."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
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

BARRIER_TIMEOUT = timedelta(days=30)


def process_count() -> int:
    """Return the number of processes of the launch, 1 without one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def local_process_count() -> int:
    """Return the number of processes of the launch on this machine, 1 without one."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def is_main_process() -> bool:
    """Return whether this is the run's only process, or rank 0 of a launch."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def main_process_first(device: torch.device) -> Iterator[None]:
    """Run the block in the main process, then in the others, which find its results in the cache."""
    if not is_main_process():
        wait_for_all(device)
    yield
    if is_main_process():
        wait_for_all(device)


def wait_for_all(device: torch.device) -> None:
    """Block until every process of a launch has called this; return at once without a launch.

    While one process scores a pool or evaluates, the others may wait for hours, so the timeout is longer than that of
    the collectives in training, which give up after minutes.
    """
    if process_count() > 1:
        import torch

        torch.distributed.barrier(barrier_group(device))


@contextmanager
def one_launch(path: Path, device: torch.device) -> Iterator[None]:
    """Hold the lock of `path` for the whole launch, so that no other run writes there at the same time."""
    with locked(path) if is_main_process() else nullcontext():
        wait_for_all(device)  # until the main process holds the lock
        yield


@contextmanager
def ctrl_c_left_to_parent() -> Iterator[None]:
    """Let processes that are started in the block ignore Ctrl-C, which reaches them too: their parent ends them."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def end_with_parent() -> None:
    """Exit when the parent process dies, whose work is then no longer needed: for a thread of a worker process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


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
    import torch

    make_accelerator(device)  # it initialises torch.distributed
    return torch.distributed.new_group(backend="gloo", timeout=BARRIER_TIMEOUT)
