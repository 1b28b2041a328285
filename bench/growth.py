"""How work grows with the pool: seconds and memory at several sizes, the second table of docs/performance.md.

``growth("sort n uids", (10**5, 10**6, 10**7), lambda pairs: measure(sort, pairs))``, with `measure` or
`measure_command` of `measurement`, measures each size in a separate process, keeps the row and returns it.
"""

import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.measurement import Usage, keep, median, on_page, write_table
from benchmark.results.provenance import machine

BEGIN, END = "<!-- growth: begin -->", "<!-- growth: end -->"
SHORT = 3.0  # processor seconds
HEADER = "| work | pairs | processor seconds | exponent | peak memory, GiB | bytes a pair | in no file | measured |"


@dataclass(frozen=True)
class Growth:
    """One row of the table.

    Args:
        work: name of the work.
        pairs: the sizes, ascending.
        usages: the usage at each size.
        where: processor and cores of the machine.
        date: the day.
    """

    work: str
    pairs: tuple[int, ...]
    usages: tuple[Usage, ...]
    where: str
    date: str

    @property
    def exponent(self) -> float:
        """The exponent of processor seconds as a power of the pairs, between the last two sizes; 1 is linear."""
        (*_, few, many), (*_, first, last) = self.pairs, self.usages
        return math.log(last.cpu_seconds / first.cpu_seconds) / math.log(many / few)

    @property
    def bytes_per_pair(self) -> float:
        """Growth of the peak RSS per pair, between the last two sizes."""
        return self._slope([usage.peak_gib for usage in self.usages])

    @property
    def anonymous_bytes_per_pair(self) -> float:
        """The same without mapped files; the system drops their pages when memory is short."""
        return self._slope([usage.anonymous_gib for usage in self.usages])

    def _slope(self, gib: Sequence[float]) -> float:
        return (gib[-1] - gib[-2]) * 2**30 / (self.pairs[-1] - self.pairs[-2])


def growth(work: str, sizes: Sequence[int], usage_of: Callable[[int], Usage]) -> Growth:
    """Measure work on each of several numbers of pairs, ascending, and keep it as a row of the table.

    Work that takes less than `SHORT` is measured three times, and the median counts.
    """
    usages = tuple(_usage(usage_of, pairs) for pairs in sizes)
    row = Growth(work, tuple(sizes), usages, machine(), time.strftime("%Y-%m-%d"))
    rows = [_of_json(value) for value in keep(work, asdict(row)).values() if "usages" in value]
    write_table(BEGIN, END, HEADER, on_page(BEGIN, END, [_cells(of) for of in rows]))
    sys.stdout.write(f"\n{_cells(row)}\n")
    return row


def _usage(usage_of: Callable[[int], Usage], pairs: int) -> Usage:
    first = usage_of(pairs)
    return first if first.cpu_seconds > SHORT else median([first, usage_of(pairs), usage_of(pairs)])


def _of_json(value: dict[str, Any]) -> Growth:
    usages = tuple(Usage(**usage) for usage in value["usages"])
    return Growth(**(value | {"pairs": tuple(value["pairs"]), "usages": usages}))


def _cells(row: Growth) -> str:
    cells = [
        row.work,
        " / ".join(f"{pairs:,}" for pairs in row.pairs),
        " / ".join(f"{usage.cpu_seconds:.3g}" for usage in row.usages),
        f"{row.exponent:.2f}",
        " / ".join(f"{usage.peak_gib:.2f}" for usage in row.usages),
        f"{row.bytes_per_pair:,.0f}",
        f"{row.anonymous_bytes_per_pair:,.0f}",
        row.date,
    ]
    return f"| {' | '.join(cells)} |"
