"""Batches read ahead in other processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from benchmark.core.errors import UserError, panics_as_errors
from benchmark.core.launch import own_cores

if TYPE_CHECKING:
    import torch

MAX_WORKERS = 16
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


def loader(dataset: Items[T], items: range, workers: int, device: torch.device) -> Iterator[T]:
    """Iterate over `items` of `dataset` in order, prefetched by `workers` processes (0: in this process)."""
    return load(_Answers(dataset), workers, device, sampler=items)


def load(dataset: Any, workers: int, device: torch.device, **options: Any) -> Iterator[Any]:
    """Iterate over a data set of torch in `workers` processes, about `MAX_WORKERS` items ahead.

    Raises a `UserError` that is among the items, or if a process was killed. `options` are of torch's `DataLoader`.
    """
    import torch.utils.data

    loaded = torch.utils.data.DataLoader(
        dataset,
        batch_size=None,
        num_workers=workers,
        prefetch_factor=min(2, max(1, MAX_WORKERS // workers)) if workers else None,
        worker_init_fn=_configure_worker,
        pin_memory=device.type == "cuda",
        # Without its own generator a loader would draw a number from the global one.
        generator=torch.Generator(),
        **options,
    )
    return _items(iter(loaded))


def _items(loaded: Iterator[T | UserError]) -> Iterator[T]:
    try:
        for item in loaded:
            if isinstance(item, UserError):
                raise item
            yield item
    except RuntimeError as error:
        if not str(error).startswith("DataLoader worker"):
            raise
        raise UserError(
            "a process that reads samples was killed, as memory or shared memory (/dev/shm) ran out; set a smaller"
            " training.workers, or 0"
        ) from error
