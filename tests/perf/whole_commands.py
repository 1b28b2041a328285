"""What whole commands take: the third table of docs/performance.md, beside a goal in seconds."""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.results.provenance import machine
from tests.perf.measurement import Usage, keep, write_table

BEGIN, END = "<!-- commands: begin -->", "<!-- commands: end -->"
HEADER = "| command | seconds | processor seconds | goal, seconds | peak memory | measured |"


@dataclass(frozen=True)
class WholeCommand:
    """One row of the table.

    Args:
        work: what is run, and from what.
        usage: what it takes; the memory is that of its largest process.
        goal_seconds: seconds on the clock that are wanted.
        where: processor and cores of the machine.
        date: the day.
    """

    work: str
    usage: Usage
    goal_seconds: float
    where: str
    date: str


def keep_command(work: str, usage_of: Callable[[], Usage], goal_seconds: float) -> WholeCommand:
    """Measure a command once and keep it as a row of the table."""
    row = WholeCommand(work, usage_of(), goal_seconds, machine(), time.strftime("%Y-%m-%d"))
    rows = [_of_json(value) for value in keep(work, asdict(row)).values() if "usage" in value]
    write_table(BEGIN, END, HEADER, [_cells(of) for of in rows])
    sys.stdout.write(f"\n{_cells(row)}\n")
    return row


def _of_json(value: dict[str, Any]) -> WholeCommand:
    return WholeCommand(**(value | {"usage": Usage(**value["usage"])}))


def _cells(row: WholeCommand) -> str:
    usage = row.usage
    numbers = (
        f"{usage.seconds:.0f} | {usage.cpu_seconds:.0f} | {row.goal_seconds:g} | {usage.peak_gib:.2f} GiB"
    )
    return f"| {row.work} | {numbers} | {row.date} |"
