"""Pieces of work over workers, each with one piece at a time; the piece of a worker that dies goes to another one."""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from benchmark.core.errors import UserError
from benchmark.core.usage import helpers_peak_rss_bytes, peak_rss_bytes, processor_seconds, record_helpers

log = logging.getLogger(__name__)
# A worker may die of what other programs do: they take the memory, a node goes down. Work at which three workers have
# died will most likely end a fourth one.
TRIES = 3
Piece = TypeVar("Piece")
Piece_contra = TypeVar("Piece_contra", contravariant=True)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


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


class Worker(Protocol, Generic[Piece_contra, T_co]):
    """A process or an actor with a copy of the work.

    `setup` and `call` block until it answers, and raise `WorkerDiedError` if it has died.
    """

    def setup(self) -> tuple[None, Usage]:
        """Wait until the work is set up; return what the worker has used."""

    def call(self, piece: Piece_contra, /) -> tuple[T_co, Usage]:
        """Return the work's return value for one piece, and what the worker has used since it started."""

    def stop(self) -> None:
        """Let the worker end, from another thread than that which waits for it; harmless if it has died."""

    def join(self) -> None:
        """Wait until it has ended."""


class WorkerRun(Generic[Piece, T]):
    """One run of work over pieces.

    Args:
        start: starts the worker of a place, a number below `places`.
        places: number of workers at a time.
        pieces: the pieces.
        remedy: what the user can do when workers die again and again.
    """

    def __init__(
        self, start: Callable[[int], Worker[Piece, T]], places: int, pieces: Sequence[Piece], remedy: str
    ) -> None:
        self._start = start
        self._pieces = pieces
        self._remedy = remedy
        self._waiting = deque(range(len(pieces)))
        self._workers: dict[int, Worker[Piece, T]] = {}  # by place
        self._places = places
        self._idle: list[int] = []  # places
        # A task is a piece's number, or ~place (below 0) for setting up the worker of a place.
        self._running: dict[Future[tuple[Any, Usage]], tuple[int, int]] = {}  # place and task
        self._deaths = Counter[int]()  # by task
        self._usage: dict[Worker[Piece, T], Usage] = {}
        self._threads = ThreadPoolExecutor(places)  # one waits for each worker

    def results(self) -> Iterator[T]:
        """Yield the return value of each piece as soon as it is done.

        Errors of the work end the run, and are not tried again.

        Raises:
            UserError: when `TRIES` workers in a row died at one piece, or before they were set up.
        """
        try:
            for place in range(self._places):
                self._start_worker(place)
            left = len(self._pieces)
            while left:
                for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                    place, task = self._running.pop(future)
                    try:
                        value = self._value(place, future)
                    # A worker whose own processes have died cannot go on.
                    except (WorkerDiedError, BrokenExecutor) as error:
                        self._replace(place, task, error)
                        continue
                    self._deaths.pop(task, None)
                    self._next_piece(place)
                    if task >= 0:
                        left -= 1
                        yield value
        finally:
            self._end()

    def _start_worker(self, place: int) -> None:
        worker = self._workers[place] = self._start(place)
        self._running[self._threads.submit(worker.setup)] = place, ~place

    def _value(self, place: int, future: Future[tuple[Any, Usage]]) -> Any:
        value, usage = future.result()
        self._usage[self._workers[place]] = usage
        return value

    def _next_piece(self, place: int) -> None:
        if not self._waiting:
            self._idle.append(place)
            return
        piece = self._waiting.popleft()
        future = self._threads.submit(self._workers[place].call, self._pieces[piece])
        self._running[future] = place, piece

    def _replace(self, place: int, task: int, error: Exception) -> None:
        """Give the piece of a dead worker to another one, unless that was tried `TRIES` times."""
        self._workers[place].stop()
        self._deaths[task] += 1
        name = self._name(task)
        how = str(error).partition(";")[0] or type(error).__name__  # without a remedy of its own
        if self._deaths[task] == TRIES:
            raise UserError(f"{TRIES} workers died at {name} (the last: {how}); {self._remedy}")
        log.warning("a worker died at %s (%s): try %d of %d", name, how, self._deaths[task] + 1, TRIES)
        if task >= 0:
            self._waiting.appendleft(task)
        if self._idle:
            self._next_piece(self._idle.pop())
        else:
            self._start_worker(place)

    def _name(self, task: int) -> str:
        if task < 0:
            return "the setup of the work"
        shard = getattr(self._pieces[task], "name", None)
        return f"shard {shard}" if shard else f"piece {task + 1} of {len(self._pieces)}"

    def _end(self) -> None:
        for worker in self._workers.values():
            worker.stop()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers.values():
            worker.join()
        record_workers(self._usage.values())
