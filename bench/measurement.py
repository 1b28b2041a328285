"""Work compared with its reference, in turns and in separate processes, and the table of docs/performance.md.

A piece of work is a function of a test module with plain arguments: ``measure(select, "/tmp/parts", 3)``. Its module
is imported before measuring begins. The work of a generator before its first ``yield``, such as loading a model, is
not measured either.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from benchmark.core.paths import write_text
from benchmark.results.provenance import machine

ROOT = Path(__file__).resolve().parents[1]
PROCESSES = "bench.processes"
ROWS, PAGE = ROOT / "docs" / "performance.json", ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PAIRS = 3
HEADER = "| work | ours | reference | ratio | goal | peak memory, ours / reference | measured |"


@dataclass(frozen=True)
class Usage:
    """Wall-clock seconds, processor seconds including child processes, and the peak RSS of the process in GiB.

    `anonymous_gib` is the peak without mapped files, because the system drops their pages when memory is short.
    `read_gib` are the bytes read from a disk; 0 if not measured.
    """

    seconds: float
    cpu_seconds: float
    peak_gib: float
    anonymous_gib: float = 0.0
    read_gib: float = 0.0


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Args:
        work: the work and its amount.
        ours: its usage.
        reference: the work to compare with.
        of_reference: the usage of the reference.
        goal: maximum ratio of ours to the reference; None without a goal.
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
        """Wall-clock seconds, ours divided by the reference's."""
        return self.ours.seconds / self.of_reference.seconds

    @property
    def cpu_ratio(self) -> float:
        """Processor seconds, ours divided by the reference's; a busy machine changes this ratio least."""
        return self.ours.cpu_seconds / self.of_reference.cpu_seconds


def measure(function: Callable[..., object], *arguments: str | float | None) -> Usage:
    """Call a function of a module in a separate process, which has imported the module."""
    return _forks_of(function.__module__).call(function.__qualname__, arguments)


def measure_command(*command: str) -> Usage:
    """Run a command; its start and its imports count."""
    runner = [sys.executable, "-m", PROCESSES, "command", *command]
    done = subprocess.run(runner, capture_output=True, text=True, check=False, cwd=ROOT, env=_environment())
    assert done.returncode == 0, done.stderr
    return Usage(**json.loads(done.stdout))


def _environment() -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": path}


class _Forks:
    """A process that has imported a module. Each of its forks calls a function; see `processes.serve`."""

    def __init__(self, module: str) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed by `_end`
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROCESSES, "serve", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            cwd=ROOT,
            env=_environment(),
        )
        weakref.finalize(self, _end, self._process, self._errors)

    def call(self, function: str, arguments: Sequence[str | float | None]) -> Usage:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([function, arguments, _environment()]) + "\n")
        self._process.stdin.flush()
        if not (usage := self._process.stdout.readline()):
            _forks_of.cache_clear()
            self._errors.seek(0)
            raise AssertionError(self._errors.read())
        return Usage(**json.loads(usage))


def _end(process: subprocess.Popen[str], errors: IO[str]) -> None:
    process.communicate()  # without input it ends
    errors.close()


@lru_cache(maxsize=2)  # of a piece of work and its reference
def _forks_of(module: str) -> _Forks:
    return _Forks(module)


def compare(
    work: str,
    ours: Callable[[], Usage],
    reference: str,
    of_reference: Callable[[], Usage],
    goal: float | None = None,
) -> Row:
    """Measure work and its reference in turns, and keep the medians as a row of the table."""
    turns = [(ours(), of_reference()) for _ in range(PAIRS)]
    medians = [median(usages) for usages in zip(*turns, strict=True)]
    row = Row(work, medians[0], reference, medians[1], goal, machine(), time.strftime("%Y-%m-%d"))
    sys.stdout.write(f"\n{_cells(row)}\n")
    _keep(row)
    return row


def median(usages: Sequence[Usage]) -> Usage:
    """Return the median of each number."""
    columns = zip(*(asdict(usage).values() for usage in usages), strict=True)
    return Usage(*map(statistics.median, columns))


def _keep(row: Row) -> None:
    rows = [value for value in keep(row.work, asdict(row)).values() if "ours" in value]
    write_table(BEGIN, END, HEADER, on_page(BEGIN, END, [_cells(_of_json(value)) for value in rows]))


def keep(work: str, measured: dict[str, Any]) -> dict[str, Any]:
    """Put the measurement of a piece of work into performance.json; return the whole file."""
    rows: dict[str, Any] = json.loads(ROWS.read_text()) if ROWS.is_file() else {}
    rows[work] = measured
    write_text(ROWS, json.dumps(rows, indent=2) + "\n")
    return rows


def on_page(begin: str, end: str, lines: Sequence[str]) -> list[str]:
    """Return the rows of work that the table of performance.md already lists; all rows if it is empty."""
    table = PAGE.read_text().partition(begin)[2].partition(end)[0]
    listed = {line.split("|")[1] for line in table.splitlines()[3:]}
    return [line for line in lines if not listed or line.split("|")[1] in listed]


def write_table(begin: str, end: str, header: str, lines: Sequence[str], page: Path | None = None) -> None:
    """Write a table between two marks of a page; None for performance.md."""
    page = page or PAGE  # not a default: tests give another one
    table = "\n".join([header, "|---" * header.count("|", 1) + "|", *lines])
    text = page.read_text()
    before, after = text[: text.index(begin) + len(begin)], text[text.index(end) :]
    write_text(page, f"{before}\n{table}\n{after}")


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
