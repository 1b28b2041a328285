"""Batches read ahead in other processes, as many as fit into memory."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from benchmark.core.errors import UserError, panics_as_errors
from benchmark.core.launch import local_process_count, own_cores

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
MAX_WORKERS = 16
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  where batches wait, on Linux
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Items(Protocol[T_co]):
    """A map-style dataset, picklable; no subclass of torch's `Dataset`, for which torch would be imported."""

    def __getitem__(self, item: int, /) -> T_co:
        """Return an item, for example the batch of a step."""


@dataclass(frozen=True)
class _Answers(Generic[T]):
    """Items in another process, a mistake of the user as an item: torch would add its traceback to the message."""

    items: Items[T]

    def __getitem__(self, item: int) -> T | UserError:
        try:
            with panics_as_errors():
                return self.items[item]
        except UserError as error:
            return error


def default_workers(device: torch.device) -> int:
    """Return how many processes read samples for a model on `device`.

    A GPU gets one per core, up to `MAX_WORKERS`; on a CPU the model itself takes most of the cores.
    """
    cores = own_cores()
    if device.type == "cuda":
        return max(1, min(cores - 1, MAX_WORKERS))
    return max(1, cores // 4) if cores > 1 else 0


def _configure_worker(worker: int) -> None:
    # A fork does not copy the threads of the parent's tokenizer: using them would hang.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def queue_bytes() -> int:
    """Return the bytes of batches that may wait for this process.

    All processes of a launch together have a quarter of the machine's memory, and half of the free shared memory, of
    which a container may have little.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    if SHARED_MEMORY.is_dir():
        memory = min(memory, shutil.disk_usage(SHARED_MEMORY).free // 2)
    return memory // local_process_count()


def queue(workers: int, item_bytes: int) -> tuple[int, int]:
    """Return how many of `workers` processes read items of `item_bytes`, and how many items of each may wait.

    They are fewer, down to none, if more items do not fit into `queue_bytes`.
    """
    if not workers:
        return 0, 0
    waiting = min(2, max(1, MAX_WORKERS // workers))
    fitting = queue_bytes() // item_bytes if item_bytes else workers * waiting
    if fitting < workers:
        log.info(
            "%d of %d workers read batches of %.1f GiB: more do not fit into %.1f GiB, a quarter of the memory or"
            " half of the free shared memory",
            *(fitting, workers, item_bytes / 2**30, queue_bytes() / 2**30),
        )
    return min(workers, fitting), max(1, min(waiting, fitting // workers))


def loader(
    dataset: Items[T],
    items: range,
    workers: int,
    device: torch.device,
    item_bytes: Callable[[], int] | None = None,
) -> Iterator[T]:
    """Iterate over `items` of `dataset` in order, prefetched by `workers` processes (0: in this process).

    `item_bytes` returns the size of an item, which bounds how many wait, see `queue`; None for small items.
    """
    workers, waiting = queue(workers, item_bytes() if workers and item_bytes else 0)
    return load(_Answers(dataset), workers, waiting, device, sampler=items)


def load(dataset: Any, workers: int, waiting: int, device: torch.device, **options: Any) -> Iterator[Any]:
    """Iterate over a data set of torch in `workers` processes, with `waiting` items of each prefetched.

    Raises a `UserError` that is among the items. `options` are of torch's `DataLoader`.
    """
    import torch.utils.data

    loaded = torch.utils.data.DataLoader(
        dataset,
        batch_size=None,
        num_workers=workers,
        prefetch_factor=waiting if workers else None,
        worker_init_fn=_configure_worker,
        pin_memory=device.type == "cuda",
        # Without its own generator a loader would draw a number from the global one.
        generator=torch.Generator(),
        **options,
    )
    return map(_raised, iter(loaded))


def _raised(item: T | UserError) -> T:
    if isinstance(item, UserError):
        raise item
    return item
