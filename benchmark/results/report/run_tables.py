"""Tables of single runs, and of evaluations without a run."""

import statistics
from collections.abc import Mapping, Sequence

from benchmark.results.report.columns import FEW, few_columns, heading, shown, table_columns, ties_notes
from benchmark.results.report.entry_facts import loss_note
from benchmark.results.report.leaderboard import REFERENCE, Entry, Measure, headlines
from benchmark.results.report.table import Cell, Table, plain
from benchmark.results.result import Evaluation, Result
from downstream.metrics.metric import Metric

INTERVAL_NOTE = (
    "± is half of a run's 95% bootstrap interval over evaluation images; it says nothing of other seeds."
)
ORACLE = "oracle"  # reads the planted noise labels of the demo
Line = tuple[str, str, str, list[Metric]]  # label, model, evaluation set, the metrics of one or several runs


def run_table(
    result: Result,
    others: Sequence[Result],
    committed: Sequence[Result] = (),
    logged: frozenset[str] = frozenset(),
) -> Table:
    """Return the table that a run ends with: a row per model and evaluation set, above that of random selection.

    Notes compare its headline metrics with random selection and the oracle under the same protocol: results among
    `others`, in the same folder, or else among the `committed` ones. The notes name metrics that are missing, but not
    for the reasons `logged` before the run began.
    """
    references = _references(result, others, committed)
    own = [(result.filter, *pair, result.metrics(*pair)) for pair in _evaluated(result)]
    lines = []
    for line in own:
        lines.append(line)
        for label, runs in references.items():
            metrics = [m for run in runs for m in run.metrics(*line[1:3])]
            if metrics and label.startswith(REFERENCE):
                lines.append((label, *line[1:3], metrics))
    table = _headline_table("filter", result, lines, own)
    table.notes[:0] = [f"{result.filter} {note}" for note in loss_note(result)]
    for measure in headlines([Entry(result.filter, result.size, [result])]):
        texts = [
            f"{label} {_mean(measure, runs)}" for label, runs in references.items() if measure.metrics(runs)
        ]
        if texts:
            table.notes.append(
                f"{measure.label} {_mean(measure, [result])} on {measure.evaluation}: {', '.join(texts)}."
            )
    table.notes.extend(_missing(result, logged))
    return table


def _references(
    result: Result, others: Sequence[Result], committed: Sequence[Result]
) -> dict[str, list[Result]]:
    """Return the runs of random selection, then of the oracle, under the result's protocol, by their label."""
    found: dict[str, list[Result]] = {}
    fingerprint = result.protocol.fingerprint
    for name in (REFERENCE, ORACLE):
        for label, runs in ((name, others), (f"{name} (reference)", committed)):
            same = [run for run in runs if (run.filter, run.protocol.fingerprint) == (name, fingerprint)]
            if same and name not in {result.filter, *found}:
                found[label] = same
    return found


def _mean(measure: Measure, runs: Sequence[Result]) -> str:
    return measure.text(statistics.fmean(measure.values(Entry("", runs[0].size, list(runs)))))


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
    protocol = first.protocol
    notes = [f"Protocol: {protocol.name} ({protocol.fingerprint})."] if protocol.overridden else []
    notes += [INTERVAL_NOTE] if any(metric.interval for *_, of_line in own for metric in of_line) else []
    headers = [FEW.get(name) or heading(metric) for name, metric in columns.items()]
    return Table(protocol.title, [label, "model", "evaluation set", *headers], rows, notes)


def _cell(metrics: Sequence[Metric], name: str) -> Cell:
    """Return the metric's mean over runs, of a single run with its interval; nothing without such a metric."""
    named = [metric for metric in metrics if metric.name == name]
    values = [metric.value for metric in named if metric.value is not None]
    text = shown(named[0], statistics.fmean(values) if values else None) if named else ""
    if len(named) == 1 and (interval := named[0].interval):
        text += f" ±{shown(named[0], (interval[1] - interval[0]) / 2)}"
    return Cell(text)


def _missing(result: Result, logged: frozenset[str]) -> list[str]:
    """Return a line per reason for which metrics are missing, but for the reasons in `logged`."""
    names: dict[str, dict[str, None]] = {}
    for metric in (metric for pair in _evaluated(result) for metric in result.metrics(*pair)):
        if metric.reason is not None and metric.reason not in logged:
            names.setdefault(metric.reason, {})[metric.name] = None
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
        values = {m.name: m for m in evaluation.evaluations[name] if m.value is not None}
        if values.keys() & columns.keys():
            count = max(metric.count for metric in values.values())
            cells = [shown(m, values[m.name].value if m.name in values else None) for m in columns.values()]
            rows.append(plain(evaluation.label, f"{count:,}", *cells))
    header = ["model", "images or queries", *map(heading, columns.values())]
    return Table(title, header, rows, ties_notes(m for e in evaluations for m in e.evaluations[name]))
