"""Tables of the papers' own figures, apart from those of runs."""

from collections.abc import Collection, Sequence

from benchmark.results.report.leaderboard_tables import thousands
from benchmark.results.report.metric_columns import SHORT
from benchmark.results.report.published_figures import Measure, PublishedTable, published_tables
from benchmark.results.report.table import Cell, Table, plain

BEST = "†"
SETS = {"coco": "COCO", "nocaps": "NoCaps", "flickr30k": "Flickr30k", "imagenet": "ImageNet"}
NOTES = (
    f"{BEST} best as printed: the highest figure of its size and column, recomputed from the figures, ties included.",
    "Single runs of the paper's own setting: nothing can be said of significance, and nothing here is comparable with"
    " the leaderboards of other settings.",
)


def paper_tables(chosen: Collection[str] | None = None) -> list[Table]:
    """Return every table of a paper that has one of the `chosen` metrics, with these columns alone; None: all."""
    tables = []
    for published in published_tables():
        measures = [m for m in published.measures if chosen is None or m.metric in chosen]
        if measures:
            tables.append(_table(published, measures))
    return tables


def _table(published: PublishedTable, measures: Sequence[Measure]) -> Table:
    best = published.best()
    rows = []
    for row in published.rows:
        cells = [_cell(row.figures[m], best[row.size, m]) for m in measures]
        rows.append([*plain(row.filter, thousands(row.size)), *cells])
    header = ["filter", "size", *(f"{SETS[m.evaluation]} {SHORT[m.metric]}" for m in measures)]
    title = f"Published: Table {published.number} of {published.paper}: {published.about}"
    return Table(title, header, rows, [f"Source: {published.citation}.", *published.notes, *NOTES])


def _cell(figure: str, best: float) -> Cell:
    is_best = float(figure) == best
    return Cell(f"{figure} {BEST}" if is_best else figure, bold=is_best)
