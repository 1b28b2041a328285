"""Tables of the report, and their Markdown."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchmark.core.errors import UserError
from benchmark.core.sanitize import visible
from benchmark.results.report.leaderboard import Entry

MISSING = "–"
# They begin a cell, an HTML tag, a link or image, code, a character by its name.
_MARKS = re.compile(r"[\\|<\[`&]")
_BLOCKS = re.compile(r"^(\d*)([#>+=~*_.)-])")  # begin a heading, quote, list, rule or block of code


@dataclass(frozen=True)
class Cell:
    """A text, bold if it is the best of its column."""

    text: str
    bold: bool = False
    interval: str = ""
    # The page sorts by `sort` in place of the text, and shows the others.
    sort: float | None = None
    # The ends of the interval, the value between them, on the column's scale from 0 to 100.
    strip: tuple[float, ...] = ()
    rank: str = ""
    note: str = ""

    @property
    def whole(self) -> str:
        """The text with its interval, as Markdown and the terminal show it."""
        return f"{self.text} ({self.interval})" if self.interval else self.text


@dataclass(frozen=True)
class Table:
    """A titled table; `notes` follow it and say e.g. why cells are missing."""

    title: str
    header: list[str]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)
    entries: Sequence[Entry] = ()  # of a leaderboard's table, the entry of each row


def plain(*texts: str) -> list[Cell]:
    """Return cells without emphasis."""
    return [Cell(text) for text in texts]


def to_markdown(title: str, introduction: str, tables: Iterable[Table]) -> str:
    """Return a Markdown document of tables; their texts are escaped."""
    body = "\n\n".join(_table(table) for table in tables)
    return f"# {title}\n\n{introduction}\n\n{body}\n"


def table_lines(table: Table) -> list[str]:
    """Return the lines of a Markdown table, without its title and notes."""
    rule = ["---", *["---:"] * (len(table.header) - 1)]
    bold = "**{}**".format
    rows = [
        [bold(text) if c.bold else text for c in row for text in [escaped(c.whole)]] for row in table.rows
    ]
    lines = [[escaped(name) for name in table.header], rule, *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def note_lines(notes: Iterable[str]) -> list[str]:
    """Return the Markdown of notes, a line each."""
    return [_BLOCKS.sub(r"\1\\\2", escaped(note).strip()) for note in notes]


def publish(text: str, tables: Mapping[str, Table], file: str) -> str:
    """Return the Markdown `text` with each table and its notes between the markers of its name, if it has them.

    A marker with a number, ``<!-- leaderboard: 5 rows -->``, takes the first rows, without notes. Raises
    `UserError` for a text without any markers.
    """

    def filled(marked: re.Match[str]) -> str:
        table = tables[marked["name"]]
        rows = table.rows[: int(marked["rows"] or len(table.rows))]
        some = [f"The first {len(rows)} of {len(table.rows)} rows."]  # their notes are with the whole table
        notes = some if len(rows) < len(table.rows) else note_lines(table.notes)
        return "\n".join(
            [marked["begin"], *table_lines(replace(table, rows=rows)), "", *notes, marked["end"]]
        )

    begin = rf"(?P<begin><!-- (?P<name>{'|'.join(tables)})(?:: (?P<rows>\d+) rows)? -->)"
    text, replaced = re.subn(rf"{begin}\n.*?(?P<end><!-- /(?P=name) -->)", filled, text, flags=re.DOTALL)
    if not replaced:
        markers = " or ".join(f"<!-- {name} --> and, below it, <!-- /{name} -->" for name in tables)
        raise UserError(f"task.publish: {file} must have the lines {markers}")
    return text


def escaped(text: str) -> str:
    """Return untrusted text as Markdown that shows it within a line."""
    return _MARKS.sub(r"\\\g<0>", visible(text.replace("\n", " ")))


def _table(table: Table) -> str:
    notes = (f"{note}  " for note in note_lines(table.notes))
    return "\n".join([f"## {escaped(table.title)}", "", *table_lines(table), "", *notes]).rstrip()
