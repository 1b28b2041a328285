"""The figures of papers' own tables, kept in ``published/*.yaml`` as they are printed."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

FOLDER = Path(__file__).parent / "published"
SIZE_UNITS = {"k": 1_000, "m": 1_000_000}
ICC = "ICC"


class Measure(NamedTuple):
    """What a column of a table measures."""

    model: str
    evaluation: str
    metric: str


@dataclass(frozen=True)
class PublishedRow:
    """What a paper prints for one filter at one size, by measure."""

    filter: str
    size: int
    figures: dict[Measure, str]


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper.

    Args:
        paper: short name of the paper.
        citation: authors, year and title.
        number: the table's number in the paper.
        about: what was trained on what.
        protocol: the experiment of ``conf/experiment`` with the same setting; empty if there is none.
        rows: in the paper's order.
        notes: what is odd about the figures, and whether its bold is known.
    """

    paper: str
    citation: str
    number: str
    about: str
    protocol: str
    rows: list[PublishedRow]
    notes: list[str]

    @property
    def measures(self) -> list[Measure]:
        """The columns; every row has all of them."""
        return list(self.rows[0].figures)

    def best(self) -> dict[tuple[int, Measure], float]:
        """Return the highest figure of each size and measure."""
        highest: dict[tuple[int, Measure], float] = defaultdict(lambda: float("-inf"))
        for row in self.rows:
            for measure, figure in row.figures.items():
                highest[row.size, measure] = max(float(figure), highest[row.size, measure])
        return highest


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    """Return all tables, paper by paper."""
    return tuple(table for path in sorted(FOLDER.glob("*.yaml")) for table in _tables(path))


def paper_figure(paper: str, number: str, filter_name: str, size: int, measure: Measure) -> float:
    """Return one figure of a paper's table. Raises `LookupError` where it has none."""
    for table in published_tables():
        if (table.paper, table.number) == (paper, number):
            for row in table.rows:
                if (row.filter, row.size) == (filter_name, size):
                    return float(row.figures[measure])
    raise LookupError(f"Table {number} of {paper} has no {filter_name} at {size}")


def _tables(path: Path) -> Iterator[PublishedTable]:
    paper = yaml.safe_load(path.read_text(encoding="utf-8"))
    for table in paper["tables"]:
        measures = [
            Measure(columns["model"], columns["evaluation"], metric)
            for columns in table["columns"]
            for metric in columns["metrics"]
        ]
        rows = [_row(line.split(), measures) for line in table["rows"].splitlines() if line]
        yield PublishedTable(
            paper["paper"], paper["citation"], table["number"], table["about"], table.get("protocol", ""), rows,
            [*table.get("notes", []), paper["bold"]],
        )  # fmt: skip


def _row(words: Sequence[str], measures: Sequence[Measure]) -> PublishedRow:
    name, size, *figures = words
    samples = int(size[:-1]) * SIZE_UNITS[size[-1]]
    return PublishedRow(name, samples, dict(zip(measures, figures, strict=True)))
