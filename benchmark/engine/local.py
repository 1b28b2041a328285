"""Work on the processes and GPUs of one machine."""

import multiprocessing
import os
import pickle
import resource
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import forkserver
from typing import Any, TypeVar

from benchmark.core.devices import device_type, resolve_device
from benchmark.core.errors import panics_as_errors
from benchmark.core.launch import (
    available_cores,
    ctrl_c_left_to_parent,
    end_with_parent,
    hide_wandb,
    take_cores,
)
from benchmark.core.paths import cache_dir
from benchmark.core.ranges import Device, Processes
from benchmark.engine.base import Work
from benchmark.engine.workers import Usage, WorkerDiedError, WorkerRun, own_usage

Piece = TypeVar("Piece")
T = TypeVar("T")
OPEN_FILES = 4096  # an executor has 8: with 128 cores more than the usual limit of 1,024
REMEDY = "if memory ran out, let fewer workers share it (engine.workers=N); the same command then goes on from here"


class LocalEngine:
    """Runs work in one process per GPU, or per core without GPUs; in this process if one is enough.

    Args:
        device: ``auto``, ``cpu``, ``cuda`` (all GPUs) or ``cuda:N`` (only this one).
        workers: number of processes; by default one per GPU, or per core without GPUs.
    """

    def __init__(self, device: Device = "auto", workers: Processes | None = None) -> None:
        self.device = device  # resolved when there is work: cached scores need no torch
        self.workers = workers

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield the return value of each piece as soon as it is done."""
        devices = self._devices(1 if work.light else len(pieces))
        if len(devices) == 1:
            work.setup(devices[0])
            yield from map(work, pieces)
            return
        with ctrl_c_left_to_parent():
            forkserver.ensure_running()
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < OPEN_FILES <= hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, hard))
        cores = max(1, available_cores() // len(devices))
        yield from WorkerRun(
            lambda place: _Process(work, devices[place], cores), lambda: len(devices), pieces, REMEDY
        ).results()

    def _devices(self, pieces: int) -> list[str]:
        """Return the device of each worker; at most as many workers as pieces."""
        if device_type(self.device) == "cpu":
            return ["cpu"] * max(1, min(self.workers or available_cores(), pieces))
        import torch

        device = resolve_device(self.device)
        if device.index is not None:
            return [str(device)]
        gpus = torch.cuda.device_count()
        count = min(self.workers or gpus, pieces)
        return [f"cuda:{i % gpus}" for i in range(max(1, count))]


class _Process:
    """A worker process. It has its own executor, so that the other workers go on when it dies."""

    def __init__(self, work: Work[Any, Any], device: str, cores: int) -> None:
        # Forking the fork server is cheap and copies no lock and no CUDA context: it has imported nothing, or what
        # decoding images takes. Then numpy's BLAS has one thread in the worker; torch and faiss have `cores`.
        context = multiprocessing.get_context("forkserver")
        self._executor = ProcessPoolExecutor(1, context, _begin, (cores, str(cache_dir().parent)))
        # Pickled here, so that the worker imports the work's module, and numpy with it, once it has its cores.
        self._ready = self._executor.submit(_answer, _set_up, (pickle.dumps(work), device))

    def setup(self) -> tuple[Any, Usage]:
        return self._result(self._ready)

    def call(self, piece: Any) -> tuple[Any, Usage]:
        return self._result(self._executor.submit(_answer, _call, (piece,)))

    def stop(self) -> None:
        self._executor.shutdown(wait=False)

    def join(self) -> None:
        self._executor.shutdown()

    def _result(self, answer: Future[tuple[Any, Usage]]) -> tuple[Any, Usage]:
        try:
            return answer.result()
        except BrokenProcessPool as error:
            raise WorkerDiedError("its process was killed") from error


_work: Work[Any, Any]  # of this worker process


def _begin(cores: int, caches: str) -> None:
    end_with_parent()
    hide_wandb()
    os.environ["XDG_CACHE_HOME"] = caches  # the fork server's may be older
    take_cores(cores)


def _set_up(pickled: bytes, device: str) -> None:
    global _work
    _work = pickle.loads(pickled)  # noqa: S301 (its own)
    _work.setup(device)


def _call(piece: Any) -> Any:
    return _work(piece)


def _answer(action: Callable[..., T], arguments: tuple[Any, ...]) -> tuple[T, Usage]:
    """Return the action's return value and the usage of this process. An error that cannot be sent becomes text."""
    try:
        with panics_as_errors():
            return action(*arguments), own_usage()
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 (its own)
        except Exception:
            raise RuntimeError(f"{type(error).__name__}: {error}") from error
        raise
