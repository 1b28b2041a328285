"""What the main process of a launch has made, for its other processes: they map its arrays and repeat no work."""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmark.core.disk_errors import disk_errors_as_one_line
from benchmark.core.errors import UserError
from benchmark.core.launch import barrier_group, is_main_process, process_count, wait_for_all
from benchmark.core.paths import cache_folder
from benchmark.core.temporaries import temporary_beside

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
_ALIGNMENT = 64  # bytes, at which Arrow and numpy read fastest


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
    import torch

    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    _write(path, parts)
    message = [(head, path, [part.nbytes for part in parts])]
    torch.distributed.broadcast_object_list(message, src=0, group=barrier_group(device))


def _receive(device: torch.device) -> Any:
    import torch

    message: list[tuple[bytes, Path, list[int]]] = [(b"", Path(), [])]
    torch.distributed.broadcast_object_list(message, src=0, group=barrier_group(device))
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
