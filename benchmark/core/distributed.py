"""Work of a launch's processes together: they wait for one another, and map what the main one has made."""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmark.core.errors import UserError, disk_errors_as_one_line
from benchmark.core.launch import is_main_process, process_count, torch_distributed
from benchmark.core.locks import locked
from benchmark.core.paths import cache_folder
from benchmark.core.temporaries import temporary_beside

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
BARRIER_TIMEOUT = timedelta(days=30)
_ALIGNMENT = 64  # bytes, at which Arrow and numpy read fastest


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
    return torch_distributed().new_group(backend="gloo", timeout=BARRIER_TIMEOUT)


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


@contextmanager
def shared_by_main(value: T | None, device: torch.device) -> Iterator[T]:
    """Give the main process's `value`, which is picklable, to every process of a launch for the time of the block.

    Its numpy and Arrow arrays go through a file in the cache, which the others map: they are in memory once for each
    machine, and cannot be written to. The others' own `value` is ignored.
    """
    if process_count() == 1:
        assert value is not None
        yield value
        return
    if not is_main_process():
        received: T = _receive(device)
        wait_for_all(device)
        yield received
        return
    assert value is not None
    # Each launch has a file of its own: another one of the same command ends, and removes its file, at any time.
    with temporary_beside(cache_folder("launches") / "arrays") as path:
        _send(value, path, device)
        wait_for_all(device)  # until every process has mapped the file
        yield value


def require_shared_cache(device: torch.device) -> None:
    """Raise `UserError` in a process of a launch that does not see the main process's cache, as on another node."""
    with shared_by_main(np.zeros(1) if is_main_process() else None, device):
        pass


def _send(value: object, path: Path, device: torch.device) -> None:
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    _write(path, parts)
    message = [(head, path, [part.nbytes for part in parts])]
    torch_distributed().broadcast_object_list(message, src=0, group=barrier_group(device))


def _receive(device: torch.device) -> Any:
    message: list[tuple[bytes, Path, list[int]]] = [(b"", Path(), [])]
    torch_distributed().broadcast_object_list(message, src=0, group=barrier_group(device))
    head, path, sizes = message[0]
    return pickle.loads(head, buffers=_mapped(path, sizes))  # noqa: S301, of this launch's main process


def _write(path: Path, parts: Sequence[memoryview]) -> None:
    """Write each part at a multiple of `_ALIGNMENT`; a byte more, as an empty file cannot be mapped."""
    with disk_errors_as_one_line(path), path.open("wb") as file:
        for part in parts:
            file.write(part)
            file.write(bytes(-part.nbytes % _ALIGNMENT))
        file.write(b"\0")


def _mapped(path: Path, sizes: Sequence[int]) -> Iterator[memoryview]:
    if not path.exists():
        raise UserError(
            f"{path.parents[2]}, the cache of the launch's main process, must be seen by all its nodes; set"
            " XDG_CACHE_HOME to a folder that they share"
        )
    with path.open("rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    start = 0
    for size in sizes:
        yield whole[start : start + size]
        start += size + -size % _ALIGNMENT
