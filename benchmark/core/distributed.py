"""Work of a launch's processes together: they wait for one another, and get what the main one has made."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process, process_count, torch_distributed
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_write, cache_folder
from benchmark.core.storage import CHUNK
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


def barrier_group(device: torch.device) -> Any:
    """Return the group of all processes of a launch, whose collectives on the CPU wait for `BARRIER_TIMEOUT`."""
    if not torch_distributed().is_initialized():
        make_accelerator(device)
    return _gloo_group(None)


@lru_cache
def _gloo_group(ranks: tuple[int, ...] | None) -> Any:
    atexit.register(_leave)
    return torch_distributed().new_group(ranks, backend="gloo", timeout=BARRIER_TIMEOUT)


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
def one_launch(path: Path, device: torch.device) -> Iterator[None]:
    """Hold the lock of `path` for the whole launch. Raises `UserError` if its name differs between processes."""
    with locked(path) if is_main_process() else nullcontext():
        if broadcast_from_main(path.name, device) != path.name:  # waits until the main process holds the lock
            raise UserError(
                f"{path.name} has other code, weights or precision than in the main process; give all nodes the same"
            )
        yield


def broadcast_from_main(value: T | None, device: torch.device, group: Any = None) -> T:
    """Return the main process's `value`, which is picklable, in every process of a launch; theirs are ignored."""
    values = [value]
    if process_count() > 1:
        torch_distributed().broadcast_object_list(values, src=0, group=group or barrier_group(device))
    assert values[0] is not None
    return values[0]


def _gather(value: T, group: Any) -> list[T]:
    values = [value] * group.size()
    torch_distributed().all_gather_object(values, value, group=group)
    return values


def same_folder(device: torch.device, folder: Path | None = None) -> list[int]:
    """Return the ranks of a launch that have this process's cache, or see its `folder`; [0] without a launch."""
    if process_count() == 1:
        return [0]
    with temporary_beside((folder or cache_folder("launches")) / "token") as file:
        names = _gather(file.name, barrier_group(device))
        ranks = [rank for rank, name in enumerate(names) if file.with_name(name).exists()]
        wait_for_all(device)  # until every process has looked
    return ranks


def copy_from_main(paths: Sequence[Path], device: torch.device) -> None:
    """Copy the main process's files to `paths` in the other caches, unless size and time are the same."""
    if process_count() == 1:
        return
    first = same_folder(device)[0]
    ranks = tuple(sorted(set(_gather(first, barrier_group(device)))))  # one process per cache
    if len(ranks) == 1:
        return
    group = _gloo_group(ranks)
    for path in paths if torch_distributed().get_rank() == first else ():
        stat = path.stat() if intact(path) else None
        versions = _gather(stat and (stat.st_size, stat.st_mtime_ns), group)
        size, time = versions[0] or (0, 0)
        if len(set(versions)) > 1 and is_main_process():
            with path.open("rb") as file:
                for _ in range(0, size, CHUNK):
                    broadcast_from_main(file.read(CHUNK), device, group)
        elif len(set(versions)) > 1:
            with atomic_write(path) as temporary:
                with temporary.open("wb") as file:
                    file.writelines(broadcast_from_main(b"", device, group) for _ in range(0, size, CHUNK))
                os.utime(temporary, ns=(time, time))
    wait_for_all(device)
