"""A paper's own figures as rows below runs of exactly its setting."""

from collections.abc import Iterable, Sequence

from benchmark.results.report.leaderboard_entries import Entry
from benchmark.results.report.published_figures import Measure, PublishedTable, published_tables
from benchmark.results.report.table import MISSING, Cell, plain


def paper_rows(
    entries: Sequence[Entry], model: str, evaluation: str, metrics: Iterable[str]
) -> tuple[list[list[Cell]], list[str]]:
    """Return rows of the papers' figures for a leaderboard's table, and notes on them.

    There are none unless a run of `entries`, which share protocol and size, has the published setting of the paper.
    """
    measures = [Measure(model, evaluation, metric) for metric in metrics]
    protocols = {run.protocol.published for entry in entries for run in entry.runs} - {""}
    tables = [t for t in published_tables() if t.protocol in protocols and {*measures} & {*t.measures}]
    rows = [row for table in tables for row in _rows(table, entries[0].size, measures)]
    sources = dict.fromkeys(f"Rows (paper) are the figures of {table.citation}." for table in tables)
    return rows, [f"{source} They are single runs and compete for no mark." for source in sources if rows]


def _rows(table: PublishedTable, size: int, measures: Sequence[Measure]) -> list[list[Cell]]:
    return [
        plain(f"{row.filter} (paper, Table {table.number})", *(row.figures.get(m, MISSING) for m in measures))
        for row in table.rows
        if row.size == size
    ]
