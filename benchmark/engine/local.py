"""Work on the processes and GPUs of one machine."""

import multiprocessing
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
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
    """A worker process, and this end of the pipe to it.

    A process and a pipe take three file descriptors, a `ProcessPoolExecutor` of one eight: with 128 cores more than
    the usual limit of 1,024.
    """

    def __init__(self, work: Work[Any, Any], device: str, cores: int) -> None:
        # The fork server has imported nothing: forking it is cheap and copies no lock and no CUDA context.
        context = multiprocessing.get_context("forkserver")
        self._pipe, its_end = context.Pipe()
        # Pickled here, so that the worker imports the work's module, and numpy with it, once it has its cores.
        arguments = its_end, pickle.dumps(work), device, cores, str(cache_dir().parent)
        self._process = context.Process(target=_serve, args=arguments)
        self._process.start()
        its_end.close()

    def setup(self) -> tuple[Any, Usage]:
        return self._receive()

    def call(self, piece: Any) -> tuple[Any, Usage]:
        with suppress(BrokenPipeError):  # `_receive` says how the process died
            self._pipe.send((piece,))
        return self._receive()

    def stop(self) -> None:
        with suppress(OSError):  # it has died, or was joined meanwhile
            self._pipe.send(())

    def join(self) -> None:
        self._process.join()
        self._pipe.close()

    def _receive(self) -> tuple[Any, Usage]:
        wait([self._pipe, self._process.sentinel])
        try:
            if not self._pipe.poll():  # a process of the dead one may hold the pipe's other end
                raise EOFError
            value, failure, usage = self._pipe.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code = self._process.exitcode or 0
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            raise WorkerDiedError(how) from None
        if failure is not None:
            error, text = failure
            raise error from _RaisedInWorkerError(text)
        return value, usage


class _RaisedInWorkerError(Exception):
    """The traceback of an error in a worker, which Python prints as the error's cause."""


def _serve(pipe: "Connection[bytes, Any]", pickled: bytes, device: str, cores: int, caches: str) -> None:
    """Set up the work, answer, and do so for each piece that comes in a tuple, until an empty tuple comes."""
    end_with_parent()
    hide_wandb()
    os.environ["XDG_CACHE_HOME"] = caches  # the fork server's may be older
    take_cores(cores)
    work: Work[Any, Any]

    def set_up(device: str) -> None:  # with the import of its module, whose errors are answered too
        nonlocal work
        work = pickle.loads(pickled)  # noqa: S301 (its own)
        work.setup(device)

    with suppress(EOFError, ConnectionError):  # the command has ended: nobody waits for an answer
        pipe.send_bytes(_answer(set_up, device))
        while message := pipe.recv():
            pipe.send_bytes(_answer(work, *message))


def _answer(action: Callable[[Any], Any], argument: Any) -> bytes:
    """Return the pickled (value, failure, usage) of the action: failure is None, or the error and its traceback."""
    try:
        with panics_as_errors():
            return pickle.dumps((action(argument), None, own_usage()))
    except Exception as error:
        text = f"in a worker process:\n{traceback.format_exc()}"
        try:
            pickle.loads(pickle.dumps(error))  # noqa: S301 (its own)
        except Exception:
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return pickle.dumps((None, (error, text), own_usage()))
