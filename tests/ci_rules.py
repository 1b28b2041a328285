"""Rules that `.ci/run` turns on: no test skips for want of an extra, and no default test takes long."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ExtensionFileLoader, SourceFileLoader
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import psutil
import pytest

# The reasons of skipped tests that lack a library or a package; without data, weights or a GPU they are others.
NOT_INSTALLED = re.compile(
    r"(?i)could not import|No module named|pip install|apt(-get)? install|make .* setup"
)
# Failures of tests without the folder pairsift. As `tests.lints` checks that benchmark, filters and downstream never
# import it, the test asked for the demo or for a study.
PAIRSIFT = re.compile(
    r"package pairsift, which has these files|No module named \\?'(pairsift|tools)|locating target 'pairsift"
    r"|cannot import name .* from 'tests\.|pairsift/demo/models/\w+ is not there"
)
OTHER_TIERS = {"slow", "full", "tools", "gpu", "perf"}
IMPORTS = {"depth": 0, "seconds": 0.0}


def fail_if_not_installed(report: Any) -> Any:
    """Turn a skip for want of an extra into a failure; `.ci/run` sets PAIRSIFT_EVERY_EXTRA and installs them all."""
    reason = str(report.longrepr[2]) if isinstance(report.longrepr, tuple) else ""
    if "PAIRSIFT_EVERY_EXTRA" in os.environ and report.skipped and NOT_INSTALLED.search(reason):
        report.outcome = "failed"
        report.longrepr = f"skipped where every extra should be installed: {reason}"
    return report


def lacks_pairsift(text: str) -> str:
    """Return why a test with this output or failure is skipped without the folder pairsift; empty if it is there."""
    needed = PAIRSIFT.search(text) if find_spec("pairsift") is None else None
    return f"needs pairsift ({needed[0]})" if needed else ""


def skip_without_pairsift(report: Any) -> Any:
    """Turn a failure for want of pairsift into a skip if that package is absent."""
    if report.failed and (reason := lacks_pairsift(str(report.longrepr))):
        report.outcome, report.longrepr = "skipped", (__file__, 1, f"Skipped: {reason}")
    return report


@contextmanager
def limit_of_processor_time(item: pytest.Item) -> Iterator[None]:
    """Fail a default test whose body takes more than PAIRSIFT_TEST_SECONDS of processor time.

    `.ci/run` sets it, for a fast machine.

    The time of this process and its descendants counts. Fixtures do not count, as many tests share the
    expensive ones; nor do first imports of libraries, which any test of the session may be the first to need.
    """
    if "PAIRSIFT_TEST_SECONDS" not in os.environ:
        yield
        return
    limit = float(os.environ["PAIRSIFT_TEST_SECONDS"]) * slowness()
    before = processor_seconds()
    yield
    seconds = processor_seconds() - before
    if seconds > limit and not OTHER_TIERS & {mark.name for mark in item.iter_markers()}:
        pytest.fail(
            f"{seconds:.1f} processor seconds; a default test has {limit:.1f}: make it faster, or mark it slow"
        )


@cache
def slowness() -> float:
    """How many times as long as on a fast machine ten million additions take, at least 1: machines differ twofold."""
    began, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return max(1.0, (time.process_time() - began) / 0.45)


def processor_seconds() -> float:
    """Processor seconds of this process and all its descendants, dead or alive, without imports."""
    processes, seconds = [psutil.Process()], -IMPORTS["seconds"]
    processes += processes[0].children(recursive=True)
    for process in processes:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # its parent has its time now
            continue
        seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def time_imports() -> None:
    """Count the processor time of this process that goes into importing modules."""

    def timed(exec_module: Any) -> Any:
        def call(self: Any, module: ModuleType) -> None:
            IMPORTS["depth"] += 1
            began = time.process_time()
            try:
                exec_module(self, module)
            finally:
                IMPORTS["depth"] -= 1
                if not IMPORTS["depth"]:
                    IMPORTS["seconds"] += time.process_time() - began

        return call

    for loader in (SourceFileLoader, ExtensionFileLoader):
        loader.exec_module = timed(loader.exec_module)  # type: ignore[method-assign]
