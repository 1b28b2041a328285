"""Work of minutes, measured once: the third table of docs/performance.md."""

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from bench.measurement import Usage, keep, on_page, write_table
from benchmark.results.provenance import machine

BEGIN, END = "<!-- once: begin -->", "<!-- once: end -->"
HEADER = "| work | seconds | processor seconds | peak memory, GiB | in no file | goal | measured |"


@dataclass(frozen=True)
class MeasuredOnce:
    """One row of the table.

    Args:
        work: name of the work.
        usage: its usage; for a command with several processes, the memory of the largest.
        goal: required limit, such as ``150 s`` or ``2 GiB``.
        where: processor and cores of the machine.
        date: the day.
    """

    work: str
    usage: Usage
    goal: str
    where: str
    date: str


def measure_once(work: str, usage_of: Callable[[], Usage], goal: str) -> MeasuredOnce:
    """Measure work once and keep it as a row of the table."""
    row = MeasuredOnce(work, usage_of(), goal, machine(), time.strftime("%Y-%m-%d"))
    rows = [_of_json(value) for value in keep(work, asdict(row)).values() if "usage" in value]
    write_table(BEGIN, END, HEADER, on_page(BEGIN, END, [_cells(of) for of in rows]))
    sys.stdout.write(f"\n{_cells(row)}\n")
    return row


def _of_json(value: dict[str, Any]) -> MeasuredOnce:
    return MeasuredOnce(**(value | {"usage": Usage(**value["usage"])}))


def _cells(row: MeasuredOnce) -> str:
    usage = row.usage
    in_no_file = f"{usage.anonymous_gib:.2f}" if usage.anonymous_gib else ""
    memory = f"{usage.peak_gib:.2f} | {in_no_file}"
    return (
        f"| {row.work} | {usage.seconds:.0f} | {usage.cpu_seconds:.0f} | {memory} | {row.goal} | {row.date} |"
    )
