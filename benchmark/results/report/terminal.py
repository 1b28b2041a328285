"""Tables on the terminal."""

from collections.abc import Iterable
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from benchmark.core.sanitize import redact, visible
from benchmark.results.report.table import Table

FILE_WIDTH = 160  # columns, if the output is not a terminal


def print_tables(tables: Iterable[Table], *, stderr: bool = False) -> None:
    """Print tables and their notes; a note that several tables have is printed once."""
    target = console(stderr=stderr)
    printed: set[str] = set()
    for table in tables:
        target.print(_drawn(table))
        for note in table.notes:
            if note not in printed:
                target.print(shown(note))
        printed.update(table.notes)


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal, or `FILE_WIDTH` columns wide without one."""
    target = Console(stderr=stderr)
    return target if target.is_terminal else Console(stderr=stderr, width=FILE_WIDTH)


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(title=shown(table.title), title_justify="left", box=SIMPLE_HEAD, padding=(0, 1))
    for number, name in enumerate(table.header):
        texts = [shown(row[number].whole).plain for row in table.rows]
        # Headers and names may be folded between words, numbers may not.
        unbroken = [*name.split(), *(" ".join(texts).split() if number == 0 else texts)]
        justify: Literal["left", "right"] = "left" if number == 0 else "right"
        drawn.add_column(shown(name), justify=justify, min_width=max(map(len, unbroken)), overflow="fold")
    for row in table.rows:
        drawn.add_row(*(shown(cell.whole, "bold" if cell.bold else "") for cell in row))
    return drawn


def shown(text: str, style: str = "") -> Text:
    """Return a text as a terminal may show it: without its markup, control characters, and credentials of URLs."""
    return Text(visible(redact(text)), style)
