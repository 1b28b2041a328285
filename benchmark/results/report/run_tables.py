"""Tables of single runs, and of evaluations without a run."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from benchmark.results.report.columns import COLUMNS, metric_cell, ties_notes
from benchmark.results.report.entry_facts import loss_note
from benchmark.results.report.leaderboard import REFERENCE
from benchmark.results.report.table import Cell, Table, plain
from benchmark.results.result import Evaluation, Result
from downstream.metrics.metric import Metric

HEADLINE_COLUMNS = {
    "CIDEr": "CIDEr",
    "METEOR": "METEOR",
    "BERTScore": "BERTScore",
    "text_to_image_R@1": "T2I R@1",
    "image_to_text_R@1": "I2T R@1",
    "zero_shot": "zero-shot",
}
INTERVAL_NOTE = (
    "± is half of a run's 95% bootstrap interval over evaluation images; it says nothing of other seeds."
)


def run_table(result: Result, others: Iterable[Result], told: frozenset[str] = frozenset()) -> Table:
    """Return a row per model and evaluation set, each above that of random selection where `others` have such a run.

    Only runs of the same protocol are shown beside it. What is missing stands once below the table.

    Args:
        result: the run.
        others: the results beside it.
        told: reasons for missing metrics that the run logged before it began; they are not repeated.
    """
    comparable = [o for o in others if o.protocol.fingerprint == result.protocol.fingerprint]
    references = [o for o in comparable if o.filter == REFERENCE and o.run_id != result.run_id]
    evaluated = [(model, name) for model, t in result.downstream.items() for name in t.evaluations]
    present = {metric.name for pair in evaluated for metric in _metrics(result, *pair)}
    columns = {name: short for name, short in HEADLINE_COLUMNS.items() if name in present}
    rows = []
    for model, name in evaluated:
        for label, runs in ((result.filter, [result]), (REFERENCE, references)):
            metrics = [metric for run in runs for metric in _metrics(run, model, name)]
            if metrics:
                rows.append([*plain(label, model, name), *(_cell(metrics, column) for column in columns)])
    header = ["filter", "model", "evaluation set", *columns.values()]
    intervals = any(m.interval for pair in evaluated for m in _metrics(result, *pair))
    notes = [f"{result.filter} {note}" for note in loss_note(result)]
    notes += [INTERVAL_NOTE] * intervals + _missing(result, told)
    return Table(result.protocol.name, header, rows, notes)


def joint_tables(results: Sequence[tuple[str, Result]]) -> list[Table]:
    """Return the headline metrics of several runs: a table per protocol, in it a row per evaluation set and run.

    Args:
        results: the runs, each with the name that stands in its rows.
    """
    by_protocol: dict[str, list[tuple[str, Result]]] = {}
    for name, result in results:
        by_protocol.setdefault(result.protocol.fingerprint, []).append((name, result))
    return [_joint_table(runs) for runs in by_protocol.values()]


def _joint_table(runs: Sequence[tuple[str, Result]]) -> Table:
    first = runs[0][1]
    evaluated = [(model, name) for model, t in first.downstream.items() for name in t.evaluations]
    present = {metric.name for pair in evaluated for _, run in runs for metric in _metrics(run, *pair)}
    columns = {name: short for name, short in HEADLINE_COLUMNS.items() if name in present}
    rows = []
    for model, name in evaluated:
        for label, run in runs:
            metrics = _metrics(run, model, name)
            rows.append([*plain(label, model, name), *(_cell(metrics, column) for column in columns)])
    header = ["run", "model", "evaluation set", *columns.values()]
    intervals = any(m.interval for pair in evaluated for _, run in runs for m in _metrics(run, *pair))
    return Table(first.protocol.name, header, rows, [INTERVAL_NOTE] * intervals)


def _metrics(result: Result, model: str, evaluation: str) -> list[Metric]:
    trained = result.downstream.get(model)
    return trained.evaluations.get(evaluation, []) if trained else []


def _cell(metrics: Sequence[Metric], name: str) -> Cell:
    """Return the metric's mean over runs, of a single run with its interval; nothing where no such metric belongs."""
    named = [metric for metric in metrics if metric.name == name]
    if not named:
        return Cell("")
    values = [metric.value for metric in named if metric.value is not None]
    cell = metric_cell(name, [statistics.fmean(values)] if values else [])
    if len(named) > 1 or named[0].interval is None:
        return cell
    low, high = named[0].interval
    return Cell(f"{cell.text} ±{metric_cell(name, [(high - low) / 2]).text}")


def _missing(result: Result, told: frozenset[str]) -> list[str]:
    """Return a line per reason for which metrics are missing, and one for all reasons in `told`."""
    names: dict[str, dict[str, None]] = {}
    for trained in result.downstream.values():
        for metric in (metric for metrics in trained.evaluations.values() for metric in metrics):
            if metric.reason is not None:
                reason = "see the reasons before the run" if metric.reason in told else metric.reason
                names.setdefault(reason, {})[metric.name] = None
    return [f"{', '.join(of_reason)} missing: {reason}" for reason, of_reason in names.items()]


def evaluation_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return a table per evaluation set and kind of metric, in the order of the labels.

    Of several evaluations of one thing on one set the one that finished last is shown.
    """
    latest: dict[tuple[str, str], Evaluation] = {}
    for evaluation in sorted(evaluations, key=lambda e: e.finished):
        latest |= {(name, evaluation.label): evaluation for name in evaluation.evaluations}
    names = dict.fromkeys(name for name, _ in sorted(latest))
    tables = [
        _evaluation_table(
            f"evaluated on {name}{ending}",
            name,
            columns,
            [e for (n, _), e in sorted(latest.items()) if n == name],
        )
        for name in names
        for ending, columns in COLUMNS.items()
    ]
    return [table for table in tables if table.rows]


def _evaluation_table(
    title: str, name: str, abbreviations: Mapping[str, str], rows: Sequence[Evaluation]
) -> Table:
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
