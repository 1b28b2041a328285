"""Work on the processes and GPUs of one machine."""

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing.queues import Queue
from typing import Any, TypeVar

import torch

from benchmark.core.devices import resolve_device
from benchmark.engine.base import Work

Piece = TypeVar("Piece")
T = TypeVar("T")
_work: Any = None  # the worker process's own copy, set up once


class LocalEngine:
    """Runs work in this process when that is enough, else in one process a GPU or a core.

    Args:
        device: ``auto``, ``cpu``, ``cuda`` (all GPUs) or ``cuda:N`` (that one).
        workers: processes; by default one for each GPU, or for each core without one.
    """

    def __init__(self, device: str = "auto", workers: int | None = None) -> None:
        self.device = resolve_device(device)
        self.workers = workers

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield one return value for each piece as it is done."""
        devices = self._devices(1 if work.light else len(pieces))
        if len(devices) == 1:
            work.setup(torch.device(devices[0]))
            yield from map(work, pieces)
            return
        # A server that has imported nothing but this forks cheaply, and forks no lock and no CUDA context.
        context = multiprocessing.get_context("forkserver")
        queue: Queue[str] = context.Queue()
        for device in devices:
            queue.put(device)
        threads = max(1, _cores() // len(devices))
        with ProcessPoolExecutor(len(devices), context, _start, (work, queue, threads)) as pool:
            futures = [pool.submit(_call, piece) for piece in pieces]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def _devices(self, pieces: int) -> list[str]:
        """Return a device for each worker; never more workers than pieces."""
        if self.device.type != "cuda":
            count = self.workers or _cores()
            return [str(self.device)] * max(1, min(count, pieces))
        if self.device.index is not None:
            return [str(self.device)]
        gpus = torch.cuda.device_count()
        count = min(self.workers or gpus, pieces)
        return [f"cuda:{i % gpus}" for i in range(max(1, count))]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(work: Work[Any, Any], devices: "Queue[str]", threads: int) -> None:
    global _work  # a process pool offers workers no other place for state
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        work.setup(torch.device(devices.get()))
    except Exception as error:  # raised by the first call: here it would break the pool without a word
        _work = partial(_raise, error)
    else:
        _work = work


def _end_with_parent() -> None:
    """End this worker when its parent was killed: it would do all the pieces that it had been given, for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _call(piece: Any) -> Any:
    return _work(piece)


def _raise(error: Exception, piece: Any) -> Any:
    raise error
