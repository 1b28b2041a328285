"""Measurements of work in a separate process."""

import os
import sys
import time
from collections.abc import Iterator

import pytest

from bench.measurement import measure, measure_command
from benchmark.engine.local import LocalEngine

MIB = 1 << 20
IMPORTS = ("wave",)
TWO_WORKERS = """
import multiprocessing
busy = "import time\\nwhile time.process_time() < .3: pass"
context = multiprocessing.get_context("forkserver")
workers = [context.Process(target=exec, args=(busy,)) for _ in range(2)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
"""


def hold(mebibytes: int) -> None:
    held = bytearray(mebibytes * MIB)
    time.sleep(0.1)  # memory is looked at fifty times a second
    print(len(held))  # what work prints is not taken for its usage


def hold_before(mebibytes: int) -> Iterator[None]:
    held = bytearray(mebibytes * MIB)
    del held
    yield


class Busy:
    """Keeps a processor busy."""

    light = False

    def setup(self, device: str) -> None:
        """Load nothing."""

    def __call__(self, seconds: float) -> None:
        """Take that many seconds of it."""
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass


def use_two_workers() -> None:
    list(LocalEngine("cpu", 2).run(Busy(), [0.3, 0.3]))


def fail_unless(name: str) -> None:
    if name not in os.environ:
        raise ValueError(f"no {name}")


def fail_unless_imported(name: str) -> None:
    assert name in sys.modules


def test_libraries_are_imported_before_a_call() -> None:
    measure(fail_unless_imported, *IMPORTS)


def test_memory_is_that_of_one_call() -> None:
    large, small = (measure(hold, mebibytes).anonymous_gib for mebibytes in (96, 1))
    assert large - small == pytest.approx(95 / 1024, rel=0.05)


def test_what_comes_before_the_yield_is_not_measured() -> None:
    assert measure(hold_before, 96).anonymous_gib - measure(hold, 1).anonymous_gib < 10 / 1024


def test_an_error_is_that_of_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="ValueError: no PAIRSIFT_PERF"):
        measure(fail_unless, "PAIRSIFT_PERF")
    monkeypatch.setenv("PAIRSIFT_PERF", "1")
    measure(fail_unless, "PAIRSIFT_PERF")


def test_the_workers_of_a_command_are_counted() -> None:
    """They are children of a fork server. The command does not wait for it."""
    assert 0.6 < measure_command(sys.executable, "-c", TWO_WORKERS).cpu_seconds < 2


def test_the_workers_of_a_call_are_counted() -> None:
    assert 0.6 < measure(use_two_workers).cpu_seconds < 4
