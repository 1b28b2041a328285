"""Tables of single runs, and of evaluations without a run."""

import statistics
from collections.abc import Iterable, Mapping, Sequence

from benchmark.results.report.columns import FEW, few_columns, heading, metric_cell, table_columns, ties_notes
from benchmark.results.report.entry_facts import loss_note
from benchmark.results.report.leaderboard import REFERENCE
from benchmark.results.report.table import Cell, Table, plain
from benchmark.results.result import Evaluation, Result
from downstream.metrics.metric import Metric

INTERVAL_NOTE = (
    "± is half of a run's 95% bootstrap interval over evaluation images; it says nothing of other seeds."
)
Line = tuple[str, str, str, list[Metric]]  # label, model, evaluation set, the metrics of one or several runs


def run_table(result: Result, others: Iterable[Result], logged: frozenset[str] = frozenset()) -> Table:
    """Return the table that a run ends with: a row per model and evaluation set, above that of random selection.

    Results of the same protocol among `others`, in the same folder, are compared. The notes name metrics that are
    missing, but not for the reasons `logged` before the run began.
    """
    comparable = [o for o in others if o.protocol.fingerprint == result.protocol.fingerprint]
    references = [o for o in comparable if o.filter == REFERENCE and o.run_id != result.run_id]
    lines = []
    for model, name in _evaluated(result):
        lines.append((result.filter, model, name, result.metrics(model, name)))
        lines.append((REFERENCE, model, name, [m for run in references for m in run.metrics(model, name)]))
    table = _headline_table("filter", result, [line for line in lines if line[3]], lines[::2])
    table.notes[:0] = [f"{result.filter} {note}" for note in loss_note(result)]
    table.notes.extend(_missing(result, logged))
    return table


def joint_tables(results: Sequence[tuple[str, Result]]) -> list[Table]:
    """Return the headline metrics of runs by name: a table per protocol, a row per evaluation set and run."""
    by_protocol: dict[str, list[tuple[str, Result]]] = {}
    for name, result in results:
        by_protocol.setdefault(result.protocol.fingerprint, []).append((name, result))
    tables = []
    for runs in by_protocol.values():
        first = runs[0][1]
        lines = [(label, *pair, run.metrics(*pair)) for pair in _evaluated(first) for label, run in runs]
        tables.append(_headline_table("run", first, lines, lines))
    return tables


def _evaluated(result: Result) -> list[tuple[str, str]]:
    return [(model, name) for model, trained in result.downstream.items() for name in trained.evaluations]


def _headline_table(label: str, first: Result, lines: Sequence[Line], own: Sequence[Line]) -> Table:
    """Return the lines as a table, with the columns and the note on intervals that the `own` lines need."""
    columns = few_columns(of_line for *_, of_line in own)
    rows = [[*plain(*names), *(_cell(of_line, name) for name in columns)] for *names, of_line in lines]
    notes = [INTERVAL_NOTE] if any(metric.interval for *_, of_line in own for metric in of_line) else []
    headers = [FEW.get(name) or heading(metric) for name, metric in columns.items()]
    return Table(first.protocol.name, [label, "model", "evaluation set", *headers], rows, notes)


def _cell(metrics: Sequence[Metric], name: str) -> Cell:
    """Return the metric's mean over runs, of a single run with its interval; nothing without such a metric."""
    named = [metric for metric in metrics if metric.name == name]
    if not named:
        return Cell("")
    values = [metric.value for metric in named if metric.value is not None]
    cell = metric_cell(named[0], [statistics.fmean(values)] if values else [])
    if len(named) > 1 or named[0].interval is None:
        return cell
    low, high = named[0].interval
    return Cell(f"{cell.text} ±{metric_cell(named[0], [(high - low) / 2]).text}")


def _missing(result: Result, logged: frozenset[str]) -> list[str]:
    """Return a line per reason for which metrics are missing, and one for all reasons in `logged`."""
    names: dict[str, dict[str, None]] = {}
    for metric in (metric for pair in _evaluated(result) for metric in result.metrics(*pair)):
        if metric.reason is not None:
            reason = "see the reasons before the run" if metric.reason in logged else metric.reason
            names.setdefault(reason, {})[metric.name] = None
    return [f"{', '.join(of_reason)} missing: {reason}" for reason, of_reason in names.items()]


def evaluation_tables(evaluations: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of ``task=evaluate``: one per evaluation set and kind of metric, in the order of the labels.

    If one model was evaluated on a set several times, the evaluation that finished last counts.
    """
    latest: dict[tuple[str, str], Evaluation] = {}
    for evaluation in sorted(evaluations, key=lambda e: e.finished):
        latest |= {(name, evaluation.label): evaluation for name in evaluation.evaluations}
    by_set: dict[str, list[Evaluation]] = {}
    for (name, _), evaluation in sorted(latest.items(), key=lambda item: item[0]):
        by_set.setdefault(name, []).append(evaluation)
    return [
        _evaluation_table(f"evaluated on {name}{ending}", name, columns, of_set)
        for name, of_set in by_set.items()
        for ending, columns in table_columns(m for e in of_set for m in e.evaluations[name]).items()
        if any(m.value is not None for e in of_set for m in e.evaluations[name] if m.name in columns)
    ]


def _evaluation_table(
    title: str, name: str, columns: Mapping[str, Metric], evaluations: Sequence[Evaluation]
) -> Table:
    """Return the table of one evaluation set."""
    rows = []
    for evaluation in evaluations:
        values = {m.name: [m.value] for m in evaluation.evaluations[name] if m.value is not None}
        if values.keys() & columns.keys():
            count = max(m.count for m in evaluation.evaluations[name] if m.value is not None)
            cells = [metric_cell(metric, values.get(metric.name, [])) for metric in columns.values()]
            rows.append([*plain(evaluation.label, f"{count:,}"), *cells])
    header = ["model", "images or queries", *map(heading, columns.values())]
    return Table(title, header, rows, ties_notes(m for e in evaluations for m in e.evaluations[name]))
