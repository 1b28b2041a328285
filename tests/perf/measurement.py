"""Work beside its reference, each in processes of its own and in turns, and the table of docs/performance.md.

A piece of work is a function of a test module with plain arguments: ``measure(select, "/tmp/parts", 3)``. Its module
is imported before measuring begins; what a generator does before its first ``yield``, such as loading a model, is not
measured either.
"""

import inspect
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from benchmark.core.paths import write_text
from benchmark.core.usage import processor_seconds
from benchmark.results.provenance import machine

ROOT = Path(__file__).resolve().parents[2]
ROWS, PAGE = ROOT / "docs" / "performance.json", ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PAIRS = 3
HEADER = "| work | ours | reference | ratio | goal | peak memory, ours / reference | measured |"


@dataclass(frozen=True)
class Usage:
    """Seconds on the clock, of processors with those of child processes, and the peak RSS of the process in GiB.

    `anonymous_gib` is the peak without mapped files, whose pages the system drops when memory is short; 0 where it
    was not measured.
    """

    seconds: float
    cpu_seconds: float
    peak_gib: float
    anonymous_gib: float = 0.0


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Args:
        work: what is done, and of how much.
        ours: its usage.
        reference: what it is compared with.
        of_reference: the usage of the reference.
        goal: the ratio, ours by the reference's, that is wanted; None without one.
        where: processor and cores of the machine.
        date: the day.
    """

    work: str
    ours: Usage
    reference: str
    of_reference: Usage
    goal: float | None
    where: str
    date: str

    @property
    def ratio(self) -> float:
        """Seconds on the clock, ours by the reference's."""
        return self.ours.seconds / self.of_reference.seconds

    @property
    def cpu_ratio(self) -> float:
        """Processor seconds, ours by the reference's: what a busy machine changes least."""
        return self.ours.cpu_seconds / self.of_reference.cpu_seconds


def measure(function: Callable[..., object], *arguments: str | float | None) -> Usage:
    """Call a function of a module in a new process."""
    return _measured("call", f"{function.__module__}:{function.__qualname__}", json.dumps(arguments))


def measure_command(*command: str) -> Usage:
    """Run a command; its start and its imports count."""
    return _measured("command", *command)


def _measured(*arguments: str) -> Usage:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", __name__, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return Usage(**json.loads(done.stdout.splitlines()[-1]))


def compare(
    work: str,
    ours: Callable[[], Usage],
    reference: str,
    of_reference: Callable[[], Usage],
    goal: float | None = None,
) -> Row:
    """Measure work and its reference in turns, and keep the medians as a row of the table."""
    turns = [(ours(), of_reference()) for _ in range(PAIRS)]
    medians = [_median(usages) for usages in zip(*turns, strict=True)]
    row = Row(work, medians[0], reference, medians[1], goal, machine(), time.strftime("%Y-%m-%d"))
    sys.stdout.write(f"\n{_cells(row)}\n")
    _keep(row)
    return row


def _median(usages: Sequence[Usage]) -> Usage:
    columns = zip(*(asdict(usage).values() for usage in usages), strict=True)
    return Usage(*map(statistics.median, columns))


def _keep(row: Row) -> None:
    rows = [value for value in keep(row.work, asdict(row)).values() if "ours" in value]
    write_table(BEGIN, END, HEADER, [_cells(_of_json(value)) for value in rows])


def keep(work: str, measured: dict[str, Any]) -> dict[str, Any]:
    """Put what was measured of a piece of work into performance.json; return the whole file."""
    rows: dict[str, Any] = json.loads(ROWS.read_text()) if ROWS.is_file() else {}
    rows[work] = measured
    write_text(ROWS, json.dumps(rows, indent=2) + "\n")
    return rows


def write_table(begin: str, end: str, header: str, lines: Sequence[str]) -> None:
    """Write a table between two marks of performance.md."""
    table = "\n".join([header, "|---" * header.count("|", 1) + "|", *lines])
    page = PAGE.read_text()
    before, after = page[: page.index(begin) + len(begin)], page[page.index(end) :]
    write_text(PAGE, f"{before}\n{table}\n{after}")


def _of_json(value: dict[str, Any]) -> Row:
    usages = {name: Usage(**value[name]) for name in ("ours", "of_reference")}
    return Row(**(value | usages))


def _cells(row: Row) -> str:
    goal = "" if row.goal is None else f"{row.goal:g}"
    memory = f"{row.ours.peak_gib:.2f} / {row.of_reference.peak_gib:.2f} GiB"
    ours, reference = (f"{u.seconds:.3g} s ({u.cpu_seconds:.3g})" for u in (row.ours, row.of_reference))
    cells = [
        row.work,
        ours,
        f"{row.reference}: {reference}",
        f"{row.ratio:.2f} ({row.cpu_ratio:.2f})",
        goal,
        memory,
        row.date,
    ]
    return f"| {' | '.join(cells)} |"


def call(name: str, arguments: str) -> Usage:
    """Call a function in this process, after its module is imported."""
    module, _, function = name.partition(":")
    work: Callable[[], object] = partial(getattr(import_module(module), function), *json.loads(arguments))
    if inspect.isgeneratorfunction(work):
        steps = cast("Iterator[object]", work())
        next(steps)
        work = partial(next, steps, None)
    before, began = _cpu_seconds(), time.monotonic()
    with _peak_anonymous() as anonymous:
        work()
    seconds, cpu_seconds = time.monotonic() - began, _cpu_seconds() - before
    # Not getrusage: its peak is that of the process which started this one, if that was larger.
    return Usage(seconds, cpu_seconds, _gib("VmHWM"), max(anonymous))


@contextmanager
def _peak_anonymous() -> Iterator[list[float]]:
    """Note the GiB of this process in no file, fifty times a second."""
    seen, done = [_gib("RssAnon")], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            seen.append(_gib("RssAnon"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()


def _gib(kind: str) -> float:
    (kilobytes,) = re.findall(rf"{kind}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(kilobytes) / 2**20


def command(*arguments: str) -> Usage:
    """Run a command as a child of this small process."""
    began = time.monotonic()
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0  # wait4 has waited for it, which Popen does not know
    return Usage(time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20)


def _cpu_seconds() -> float:
    """Seconds of this process, its ended children, and processes that work for it and are no children."""
    return processor_seconds()


if __name__ == "__main__":
    kind, *of_kind = sys.argv[1:]
    used = call(*of_kind) if kind == "call" else command(*of_kind)
    sys.stdout.write(f"\n{json.dumps(asdict(used))}\n")
