"""Pieces of work over workers, each with one piece at a time; the piece of a worker that dies is tried again."""

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Lock
from typing import Any, Generic, Protocol, TypeVar

from benchmark.core.errors import UserError
from benchmark.core.launch import STOPPED
from benchmark.core.usage import helpers_peak_rss_bytes, peak_rss_bytes, processor_seconds, record_helpers

log = logging.getLogger(__name__)
# A worker may die of what other programs do: they take the memory, a node goes down. Work at which three workers have
# died will most likely end a fourth one.
TRIES = 3
PLACEMENT_SECONDS = 30.0  # between two looks at how many workers there may be
SIGNAL_SECONDS = 1.0  # after a worker's death: the signal that ended it may be about to end this process, too
T = TypeVar("T")


@dataclass(frozen=True)
class Usage:
    """Processor seconds and peak resident bytes, of one worker or added up over the workers of an engine's run."""

    processor_seconds: float
    peak_rss_bytes: int


# One entry per engine run of this process that started workers, in order.
WORKER_RUNS: list[Usage] = []


def own_usage() -> Usage:
    """Return what this process has used since it started, with its ended children and its helpers."""
    return Usage(processor_seconds(), peak_rss_bytes() + helpers_peak_rss_bytes())


def record_workers(workers: Iterable[Usage]) -> None:
    """Record what the workers of one engine run used; their peaks may have been at different times.

    From now on `processor_seconds` of this process counts them, so whatever is timed around the run does.
    """
    usages = list(workers)
    seconds = sum(usage.processor_seconds for usage in usages)
    record_helpers(seconds, 0)  # their memory is that of the run, see `Stopwatch`
    WORKER_RUNS.append(Usage(seconds, sum(usage.peak_rss_bytes for usage in usages)))


class WorkerDiedError(Exception):
    """A worker ended before it answered; the message says how, such as ``SIGKILL``."""


class Worker(Protocol):
    """A process or an actor with a copy of the work; what blocks raises `WorkerDiedError` if it has died."""

    def setup(self) -> tuple[None, Usage]:
        """Wait until the work is set up; return what the worker has used."""

    def call(self, piece: Any, /) -> tuple[Any, Usage]:
        """Return the work's return value for one piece, and what the worker has used since it started."""

    def stop(self) -> None:
        """Let the worker end, from any thread; harmless if it has died."""

    def join(self) -> None:
        """Wait until it has ended."""


class WorkerRun(Generic[T]):
    """One run of work over pieces: a thread per place waits for its worker, and replaces it when it dies.

    Args:
        start: starts the worker of a place, a number from 0 on.
        places: returns the number of workers at a time; when it grows, workers are added while pieces wait.
        pieces: the pieces.
        remedy: what the user can do when workers die again and again.
    """

    def __init__(
        self, start: Callable[[int], Worker], places: Callable[[], int], pieces: Sequence[Any], remedy: str
    ) -> None:
        self._start = start
        self._places = places
        self._pieces = pieces
        self._remedy = remedy
        self._waiting = deque(range(len(pieces)))
        self._answers = SimpleQueue[Any]()  # a return value in a tuple, or an error
        self._workers: dict[int, Worker] = {}  # by place
        self._deaths = Counter[int]()  # by piece, or ~place (below 0) for setting up the worker of a place
        self._usage: dict[Worker, Usage] = {}
        self._lock = Lock()
        self._end = Event()

    def results(self) -> Iterator[T]:
        """Yield the return value of each piece as soon as it is done.

        Errors of the work end the run, and are not tried again.

        Raises:
            UserError: when `TRIES` workers in a row died at one piece, or before they were set up.
        """
        threads = ThreadPoolExecutor(len(self._pieces))
        started, next_look = 0, 0.0
        try:
            for _ in self._pieces:
                answer = None
                while answer is None:
                    if time.monotonic() >= next_look:
                        places = range(started, min(self._places(), started + len(self._waiting)))
                        threads.map(self._work, places)
                        started += len(places)
                        next_look = time.monotonic() + PLACEMENT_SECONDS
                    with suppress(Empty):
                        answer = self._answers.get(timeout=max(0, next_look - time.monotonic()))
                if isinstance(answer, BaseException):
                    raise answer
                yield answer[0]
        finally:
            self._end.set()
            for worker in list(self._workers.values()):
                worker.stop()
            threads.shutdown()
            record_workers(self._usage.values())

    def _work(self, place: int) -> None:
        """Work on pieces until none waits; the piece of a worker that died waits again."""
        try:
            while not self._is_over() and self._serve(place):
                pass
        except BaseException as error:
            self._answers.put(error)

    def _serve(self, place: int) -> bool:
        """Start a worker for pieces until none waits; return whether it has died before."""
        with self._lock:
            worker = self._workers[place] = self._start(place)
        task: int | None = ~place
        try:
            if self._is_over():
                return False
            _, self._usage[worker] = worker.setup()
            self._deaths.pop(~place, None)
            while not self._is_over() and (task := self._take()) is not None:
                value, self._usage[worker] = worker.call(self._pieces[task])
                self._answers.put((value,))
        # A worker whose own processes have died cannot go on.
        except (WorkerDiedError, BrokenExecutor) as error:
            self._end.wait(SIGNAL_SECONDS)
            if not self._is_over() and task is not None:
                self._note_death(task, error)
            return True
        finally:
            worker.stop()
            worker.join()
        return False

    def _is_over(self) -> bool:
        return self._end.is_set() or bool(STOPPED)

    def _take(self) -> int | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def _note_death(self, task: int, error: Exception) -> None:
        """Let the piece of a dead worker wait again, unless it was tried `TRIES` times."""
        name = "the setup of the work"
        if task >= 0:
            self._waiting.appendleft(task)
            shard = getattr(self._pieces[task], "name", None)
            name = f"shard {shard}" if shard else f"piece {task + 1} of {len(self._pieces)}"
        self._deaths[task] += 1
        how = str(error).partition(";")[0] or type(error).__name__  # without a remedy of its own
        if self._deaths[task] == TRIES:
            raise UserError(f"{TRIES} workers died at {name} (the last: {how}); {self._remedy}")
        log.warning("a worker died at %s (%s): try %d of %d", name, how, self._deaths[task] + 1, TRIES)
