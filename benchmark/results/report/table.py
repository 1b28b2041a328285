"""Tables of the report, and their Markdown."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from benchmark.core.records import LeftOut
from benchmark.core.sanitize import visible

MISSING = "–"
_MARKS = re.compile(
    r"[\\|<\[`&]"
)  # begin a cell, an HTML tag, a link or image, code, a character by its name
_BLOCKS = re.compile(r"^(\d*)([#>+=~*_.)-])")  # begin a heading, quote, list, rule or block of code


@dataclass(frozen=True)
class Cell:
    """A text, bold if it is the best of its column."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A titled table; `notes` follow it and say e.g. why cells are missing."""

    title: str
    header: list[str]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)


def plain(*texts: str) -> list[Cell]:
    """Return cells without emphasis."""
    return [Cell(text) for text in texts]


def left_out_tables(files: Sequence[LeftOut]) -> list[Table]:
    """Return the table of the files that the report cannot show, and why; none if there are none."""
    rows = [plain(str(file.path), file.reason) for file in files]
    return [Table("Left out", ["file", "reason"], rows)] if rows else []


def to_markdown(title: str, introduction: str, tables: Iterable[Table]) -> str:
    """Return a Markdown document of tables; their texts are escaped."""
    body = "\n\n".join(_table(table) for table in tables)
    return f"# {title}\n\n{introduction}\n\n{body}\n"


def table_lines(table: Table) -> list[str]:
    """Return the lines of a Markdown table, without its title and notes."""
    rule = ["---", *["---:"] * (len(table.header) - 1)]
    rows = [
        [f"**{escaped(cell.text)}**" if cell.bold else escaped(cell.text) for cell in row]
        for row in table.rows
    ]
    lines = [[escaped(name) for name in table.header], rule, *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def note_lines(notes: Iterable[str]) -> list[str]:
    """Return the Markdown of notes, a line each."""
    return [_BLOCKS.sub(r"\1\\\2", escaped(note).strip()) for note in notes]


def escaped(text: str) -> str:
    """Return untrusted text as Markdown that shows it within a line."""
    return _MARKS.sub(r"\\\g<0>", visible(text.replace("\n", " ")))


def _table(table: Table) -> str:
    notes = (f"{note}  " for note in note_lines(table.notes))
    return "\n".join([f"## {escaped(table.title)}", "", *table_lines(table), "", *notes]).rstrip()
