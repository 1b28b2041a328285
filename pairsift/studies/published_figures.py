"""The figures of papers' tables, kept in ``published/*.yaml``: as tables, and below runs of their setting."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from benchmark.results.protocol import size_text
from benchmark.results.report.frame import SHORT, Measure
from benchmark.results.report.leaderboard import Entry
from benchmark.results.report.table import MISSING, Cell, Table, plain

FOLDER = Path(__file__).parent / "published"
SIZE_UNITS = {"k": 1_000, "m": 1_000_000}
ICC = "ICC"
BEST = "†"
SETS = {
    "coco": "COCO", "nocaps": "NoCaps", "flickr30k": "Flickr30k", "imagenet": "ImageNet",
    "datacomp_retrieval": "DataComp retrieval", "datacomp": "DataComp",
}  # fmt: skip
# Of tables with several models on one evaluation set.
MODELS = {"clip_rn50": "RN50: ", "clip_vit_b": "ViT-B: "}
NOTES = (
    f"{BEST} best as printed: the highest figure of its size and column, recomputed from the figures, ties included.",
    "Single runs of the paper's own setting: nothing can be said of significance, and nothing here is comparable with"
    " the leaderboards of other settings.",
)


@dataclass(frozen=True)
class PublishedRow:
    """The figures of one filter at one size, by measure, as printed."""

    filter: str
    size: int
    figures: dict[Measure, str]


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper."""

    paper: str
    citation: str
    number: str
    about: str
    protocol: str  # the experiment of ``conf/experiment`` with the same setting; empty if there is none
    rows: list[PublishedRow]  # in the paper's order
    notes: list[str]  # what is odd about the figures, and whether its bold is known

    @property
    def measures(self) -> list[Measure]:
        """The columns; every row has all of them."""
        return list(self.rows[0].figures)


@cache
def _papers() -> list[dict[str, Any]]:
    return [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.yaml"))]


def study_tables() -> dict[tuple[str, str], Table]:
    """Return the tables of correlations and of other papers' models, which have no filters, by paper and number."""
    tables = {}
    for paper, table in ((of, table) for of in _papers() for table in of.get("studies", [])):
        header, lines = table["header"], filter(None, table["rows"].splitlines())
        rows = [plain(*line.rsplit(maxsplit=len(header) - 1)) for line in lines]
        title = f"Published: Table {table['number']} of {paper['paper']}: {table['about']}"
        notes = [f"Source: {paper['citation']}.", *table.get("notes", [])]
        tables[paper["paper"], table["number"]] = Table(title, header, rows, notes)
    return tables


@cache
def published_tables() -> tuple[PublishedTable, ...]:
    """Return all tables, paper by paper."""
    return tuple(table for paper in _papers() for table in _tables(paper))


def paper_figure(paper: str, number: str, filter_name: str, size: int, measure: Measure) -> float:
    """Return one figure of a paper's table. Raises `LookupError` if it lacks the figure."""
    for table in published_tables():
        if (table.paper, table.number) == (paper, number):
            for row in table.rows:
                if (row.filter, row.size) == (filter_name, size):
                    return float(row.figures[measure])
    raise LookupError(f"Table {number} of {paper} has no {filter_name} at {size}")


def _tables(paper: Mapping[str, Any]) -> Iterator[PublishedTable]:
    for table in paper.get("tables", []):
        measures = [
            Measure(columns["model"], columns["evaluation"], metric)
            for columns in table["columns"]
            for metric in columns["metrics"]
        ]
        rows = []
        for line in filter(None, table["rows"].splitlines()):
            name, size, *figures = line.split()
            samples = int(size[:-1]) * SIZE_UNITS[size[-1]]
            rows.append(PublishedRow(name, samples, dict(zip(measures, figures, strict=True))))
        about = paper["paper"], paper["citation"], table["number"], table["about"]
        notes = [*table.get("notes", []), table.get("bold", paper["bold"])]
        yield PublishedTable(*about, table.get("protocol", ""), rows, notes)


def paper_tables(chosen: Collection[str] | None = None) -> list[Table]:
    """Return every table of a paper with only the columns of the `chosen` metrics; None: all, and the studies."""
    tables = []
    for published in published_tables():
        measures = [m for m in published.measures if chosen is None or m.metric in chosen]
        if not measures:
            continue
        rows = []
        for row in published.rows:
            of_size = [other.figures for other in published.rows if other.size == row.size]
            bold = [float(row.figures[m]) == max(float(of[m]) for of in of_size) for m in measures]
            cells = [
                Cell(row.figures[m] + f" {BEST}" * is_best, is_best)
                for m, is_best in zip(measures, bold, strict=True)
            ]
            rows.append([*plain(row.filter, size_text(row.size)), *cells])
        header = ["filter", "size", *map(_column, measures)]
        title = f"Published: Table {published.number} of {published.paper}: {published.about}"
        notes = [f"Source: {published.citation}.", *published.notes, *NOTES]
        tables.append(Table(title, header, rows, notes))
    return tables + ([*study_tables().values()] if chosen is None else [])


def _column(measure: Measure) -> str:
    """Return the name of a measure's column."""
    return f"{MODELS.get(measure.model, '')}{SETS[measure.evaluation]} {SHORT.get(measure.metric, measure.metric)}"


def paper_rows(entries: Sequence[Entry], measures: Sequence[Measure]) -> tuple[list[list[Cell]], list[str]]:
    """Return rows of the papers' figures for a leaderboard's table, the entries' differences, and notes on them.

    There are none unless a run of `entries`, which share protocol and size, has the published setting of the paper.
    """
    protocols = {run.protocol.published for entry in entries for run in entry.runs} - {""}
    tables = [t for t in published_tables() if t.protocol in protocols and {*measures} & {*t.measures}]
    rows = []
    for t in tables:
        for row in (row for row in t.rows if row.size == entries[0].size):
            label = f"{row.filter} (paper, Table {t.number})"
            rows.append(plain(label, *(row.figures.get(m, MISSING) for m in measures)))
            own = [e for e in entries if row.filter in (e.label, e.runs[0].selection.selector)]
            if len(own) == 1:
                label = f"{own[0].label} minus paper, Table {t.number}"
                rows.append(plain(label, *(_difference(m, own[0], row) for m in measures)))
    sources = dict.fromkeys(f"Rows (paper) are the figures of {table.citation}." for table in tables)
    return rows, [f"{source} They are single runs and compete for no mark." for source in sources if rows]


def _difference(measure: Measure, entry: Entry, row: PublishedRow) -> str:
    """Return the entry's mean minus the printed figure, with its decimals; ours are shown in the paper's unit."""
    printed, values = row.figures.get(measure), measure.values(entry)
    if printed is None or not values:
        return MISSING
    decimals = len(printed.partition(".")[2])
    return f"{sum(values) / len(values) - float(printed):+.{decimals}f}"
