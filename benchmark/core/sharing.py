"""What the main process of a launch has made, for its other processes: they map its arrays and repeat no work."""

from __future__ import annotations

import hashlib
import mmap
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmark.core.launch import barrier_group, is_main_process, process_count, wait_for_all
from benchmark.core.paths import atomic_write, cache_dir
from benchmark.core.seals import remove_sealed

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
    path, received = _exchange(value, device)
    wait_for_all(device)  # until every process has mapped the file
    try:
        yield received
    finally:
        if is_main_process():
            remove_sealed(path)


def _exchange(value: T | None, device: torch.device) -> tuple[Path, T]:
    import torch

    if not is_main_process():
        message: list[tuple[bytes, Path, list[int]]] = [(b"", Path(), [])]
        torch.distributed.broadcast_object_list(message, src=0, group=barrier_group(device))
        head, path, sizes = message[0]
        received: T = pickle.loads(head, buffers=_mapped(path, sizes))  # noqa: S301, of this launch's main process
        return path, received
    assert value is not None
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [buffer.raw() for buffer in buffers]
    path = cache_dir() / "launches" / hashlib.sha256(head).hexdigest()[:16]
    _write(path, parts)
    message = [(head, path, [part.nbytes for part in parts])]
    torch.distributed.broadcast_object_list(message, src=0, group=barrier_group(device))
    return path, value


def _write(path: Path, parts: Sequence[memoryview]) -> None:
    """Write each part at a multiple of `_ALIGNMENT`; a byte more, as an empty file cannot be mapped."""
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        for part in parts:
            file.write(part)
            file.write(bytes(-part.nbytes % _ALIGNMENT))
        file.write(b"\0")


def _mapped(path: Path, sizes: Sequence[int]) -> Iterator[memoryview]:
    with path.open("rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    start = 0
    for size in sizes:
        yield whole[start : start + size]
        start += size + -size % _ALIGNMENT
