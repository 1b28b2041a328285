"""Pieces over workers that die, with threads in place of processes and actors."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from itertools import chain, repeat
from threading import Barrier, Timer

import pytest

from benchmark.cli.process import stop_on_signals
from benchmark.core.errors import UserError
from benchmark.core.launch import STOPPED
from benchmark.core.pixel_workers import DecoderDiedError
from benchmark.engine import workers
from benchmark.engine.workers import WORKER_RUNS, Usage, WorkerDiedError, WorkerRun

USED = Usage(processor_seconds=2.0, peak_rss_bytes=3)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SIGNAL_SECONDS", 0.01)
    monkeypatch.setattr(workers, "PLACEMENT_SECONDS", 0.02)


class Fake:
    """Doubles numbers. `script` says for each task, a piece or "setup", how often it kills its worker."""

    def __init__(
        self,
        script: dict[int | str, int],
        death: Exception | None = None,
        during: Callable[[], object] = lambda: None,
    ) -> None:
        self.script = script
        self.death = death or WorkerDiedError("SIGKILL")
        self.during = during
        self.started: list[int] = []
        self.calls: list[int] = []
        self.joins = 0

    def start(self, place: int) -> "Fake":
        self.started.append(place)
        return self

    def attempt(self, task: int | str) -> None:
        if self.script.get(task, 0) > 0:
            self.script[task] -= 1
            raise self.death

    def setup(self) -> tuple[None, Usage]:
        self.attempt("setup")
        return None, USED

    def call(self, piece: int) -> tuple[int, Usage]:
        self.calls.append(piece)
        self.during()
        self.attempt(piece)
        return 2 * piece, USED

    def stop(self) -> None: ...

    def join(self) -> None:
        self.joins += 1


def run(fake: Fake, places: int | Callable[[], int], pieces: int) -> list[int]:
    start: Callable[[int], Fake] = fake.start
    asked = places if callable(places) else lambda: places
    return sorted(WorkerRun(start, asked, range(pieces), "add memory").results())


@pytest.mark.parametrize("death", [WorkerDiedError("SIGKILL"), BrokenExecutor("of its own")])
def test_each_piece_is_returned_once_whatever_dies(death: Exception) -> None:
    fake = Fake({0: 2, 3: 1, 4: 2, "setup": 1}, death)
    assert run(fake, 3, 5) == [0, 2, 4, 6, 8]
    assert sorted(fake.calls) == [0, 0, 0, 1, 2, 3, 3, 4, 4, 4]


class Node(Fake):
    """Starts another worker each time: the first of each place dies while it is set up."""

    def start(self, place: int) -> Fake:
        super().start(place)
        return Fake(self.script | {"setup": 2 - self.started.count(place)}, self.death)


def test_a_node_with_many_starting_workers_may_die() -> None:
    assert run(Node({}), 8, 8) == [2 * piece for piece in range(8)]


@pytest.fixture
def signal_handlers() -> Iterator[None]:
    """Restore what a signal changes for good in a process that it ends."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    STOPPED.clear()
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signal_handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_also_ends_workers_is_not_their_death(
    number: signal.Signals,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(workers, "SIGNAL_SECONDS", 0.5)
    # This process gets the signal after its worker.
    fake = Fake({0: 9}, during=lambda: Timer(0.05, os.kill, (os.getpid(), number)).start())
    with pytest.raises(SystemExit, match=str(128 + number)), stop_on_signals():
        run(fake, 1, 4)
    assert (fake.calls, caplog.messages) == ([0], [])
    assert capsys.readouterr().err == "stopped; run the same command to go on\n"


def test_workers_are_added_for_places_that_come_later() -> None:
    together = Barrier(3)
    fake = Fake({}, during=lambda: together.wait(20))
    places = chain([1, 2, 1], repeat(3))  # a node may leave and come back
    assert run(fake, lambda: next(places), 6) == [0, 2, 4, 6, 8, 10]
    assert sorted(fake.started) == [0, 1, 2]


def test_no_worker_is_added_when_no_piece_waits() -> None:
    began = time.monotonic()
    fake = Fake({}, during=lambda: time.sleep(0.2))
    assert run(fake, lambda: 9 if time.monotonic() > began + 0.1 else 2, 2) == [0, 2]
    assert fake.joins == 2


def test_a_worker_without_its_own_processes_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    class New(Fake):
        def start(self, place: int) -> Fake:
            return Fake(self.script, self.death)

    assert run(New({1: 1}, DecoderDiedError("a process was killed; more memory")), 1, 3) == [0, 2, 4]
    assert caplog.messages == ["a worker died at piece 2 of 3 (a process was killed): try 2 of 3"]
    assert WORKER_RUNS[-1] == Usage(processor_seconds=4.0, peak_rss_bytes=6), "the dead one's last one counts"


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (1, r"^3 workers died at piece 2 of 3 \(the last: SIGKILL\); add memory$"),
        ("setup", r"^3 workers died at the setup of the work"),
    ],
)
def test_the_third_death_at_one_task_ends_the_run(task: int | str, message: str) -> None:
    fake = Fake({task: 3})
    with pytest.raises(UserError, match=message):
        run(fake, 1, 3)
    assert fake.script[task] == 0
    assert fake.joins == 3  # no process is left


def test_other_errors_end_the_run_at_once() -> None:
    fake = Fake({1: 1}, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        run(fake, 1, 3)
    assert fake.calls == [0, 1]
