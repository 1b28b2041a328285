"""Tables of ``task=evaluate``: trained and published models, and published captions, by evaluation set."""

from collections.abc import Mapping, Sequence

from benchmark.results.evaluation import Evaluation
from benchmark.results.report.leaderboard_tables import COLUMNS, metric_cell, ties_notes
from benchmark.results.report.table import Table, plain
from downstream.metrics.metric import Metric


def evaluation_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return a table per evaluation set and kind of metric, in the order of the labels.

    Of several evaluations of one thing on one set the one that finished last is shown.
    """
    latest: dict[tuple[str, str], Evaluation] = {}
    for evaluation in sorted(evaluations, key=lambda e: e.finished):
        latest |= {(name, evaluation.label): evaluation for name in evaluation.evaluations}
    names = dict.fromkeys(name for name, _ in sorted(latest))
    tables = [
        _table(
            f"evaluated on {name}{ending}",
            name,
            columns,
            [e for (n, _), e in sorted(latest.items()) if n == name],
        )
        for name in names
        for ending, columns in COLUMNS.items()
    ]
    return [table for table in tables if table.rows]


def _table(title: str, name: str, abbreviations: Mapping[str, str], rows: Sequence[Evaluation]) -> Table:
    """Return the table of one evaluation set; without rows if none has a metric of it."""
    values = {e.label: {m.name: m for m in e.evaluations[name] if m.value is not None} for e in rows}
    columns = [column for column in abbreviations if any(column in by_name for by_name in values.values())]
    body = [
        plain(label, f"{max(metric.count for metric in by_name.values()):,}")
        + [metric_cell(column, _value(by_name.get(column))) for column in columns]
        for label, by_name in values.items()
        if by_name.keys() & abbreviations.keys()
    ]
    header = ["model", "images or queries", *(abbreviations[column] for column in columns)]
    notes = ties_notes(metric for by_name in values.values() for metric in by_name.values()) if body else []
    return Table(title, header, body, notes)


def _value(metric: Metric | None) -> list[float]:
    return [] if metric is None or metric.value is None else [metric.value]
