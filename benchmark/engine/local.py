"""Work on the processes and GPUs of one machine."""

import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import forkserver
from multiprocessing.queues import Queue
from multiprocessing.util import Finalize
from typing import Any, TypeVar

from benchmark.core.devices import resolve_device
from benchmark.core.launch import ctrl_c_left_to_parent, end_with_parent
from benchmark.core.ranges import Device, PositiveInt
from benchmark.engine.base import Work
from benchmark.engine.worker_usage import Usage, own_usage, record_workers

Piece = TypeVar("Piece")
T = TypeVar("T")
_work: Any = None  # in a worker process: its copy of the work, set up


class LocalEngine:
    """Runs work in one process per GPU, or per core without GPUs; in this process if one is enough.

    Args:
        device: ``auto``, ``cpu``, ``cuda`` (all GPUs) or ``cuda:N`` (only this one).
        workers: number of processes; by default one per GPU, or per core without GPUs.
    """

    def __init__(self, device: Device = "auto", workers: PositiveInt | None = None) -> None:
        self.device = device  # resolved when there is work: cached scores need no torch
        self.workers = workers

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield the return value of each piece as soon as it is done."""
        import torch

        devices = self._devices(1 if work.light else len(pieces))
        if len(devices) == 1:
            work.setup(torch.device(devices[0]))
            yield from map(work, pieces)
            return
        # The fork server has imported only this module: forking it is cheap and copies no lock and no CUDA context.
        context = multiprocessing.get_context("forkserver")
        with ctrl_c_left_to_parent():
            forkserver.ensure_running()
        queue: Queue[tuple[int, str]] = context.Queue()
        for place in enumerate(devices):
            queue.put(place)
        usage = context.RawArray(
            "d", 2 * len(devices)
        )  # of worker i: its seconds at 2 * i, its bytes beside them
        threads = max(1, _cores() // len(devices))
        with ProcessPoolExecutor(len(devices), context, _start, (work, queue, threads, usage)) as pool:
            futures = [pool.submit(_call, piece) for piece in pieces]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                pool.shutdown(cancel_futures=True)
                record_workers(Usage(usage[i], int(usage[i + 1])) for i in range(0, len(usage), 2))

    def _devices(self, pieces: int) -> list[str]:
        """Return the device of each worker; at most as many workers as pieces."""
        import torch

        device = resolve_device(self.device)
        if device.type != "cuda":
            count = self.workers or _cores()
            return [str(device)] * max(1, min(count, pieces))
        if device.index is not None:
            return [str(device)]
        gpus = torch.cuda.device_count()
        count = min(self.workers or gpus, pieces)
        return [f"cuda:{i % gpus}" for i in range(max(1, count))]


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start(work: Work[Any, Any], places: "Queue[tuple[int, str]]", threads: int, usage: Any) -> None:
    import torch

    global _work  # a process pool gives its workers no other place for state
    threading.Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    number, device = places.get()
    Finalize(None, _report, (number, usage), exitpriority=0)
    try:
        work.setup(torch.device(device))
    except (
        Exception
    ) as error:  # raised by the first call: raised here, it would break the pool without a message
        _work = partial(_raise, error)
    else:
        _work = work


def _report(number: int, usage: Any) -> None:
    own = own_usage()
    usage[2 * number : 2 * number + 2] = [own.processor_seconds, own.peak_rss_bytes]


def _call(piece: Any) -> Any:
    return _work(piece)


def _raise(error: Exception, piece: Any) -> Any:
    raise error
