"""Tables of single runs, and of evaluations without a run."""

import statistics
from collections.abc import Mapping, Sequence

from benchmark.results.protocol import LIMIT
from benchmark.results.report.columns import FEW, few_columns, heading, shown, table_columns, ties_notes
from benchmark.results.report.entry_facts import loss_note
from benchmark.results.report.leaderboard import REFERENCE, Entry, board_title, evaluations, metrics_of
from benchmark.results.report.table import Cell, Table, plain
from benchmark.results.result import Evaluation, Result
from downstream.metrics.metric import Metric

INTERVAL_NOTE = (
    "± is the half-width of the 95% bootstrap interval over evaluation images (and classes). It does not include seed"
    " variance."
)


def run_table(
    result: Result,
    others: Sequence[Result],
    committed: Sequence[Result] = (),
    expected: frozenset[str] = frozenset(),
) -> Table:
    """Return the table that a run ends with: a row per model and evaluation set, above that of random selection.

    Random selection has the same protocol: results among `others`, in the same folder, or else among the `committed`
    ones. The notes name metrics that are missing, but not for the reasons `expected` before the run, which its last
    line sums up.
    """
    own = Entry(result.filter, result.size, [result])
    label, runs = random_runs(result, others, committed)
    random = [Entry(label, result.size, runs)] if runs else []
    lines = [
        (entry.label, *pair, metrics)
        for pair in evaluations([own])
        for entry in [own, *random]
        if (metrics := metrics_of([entry], *pair))
    ]
    columns = few_columns(metrics for *_, metrics in lines)
    rows = [[*plain(*names), *(_cell(metrics, name) for name in columns)] for *names, metrics in lines]
    notes = [f"{result.filter} {note}" for note in loss_note(result)]
    notes += [INTERVAL_NOTE] if any(metric.interval for *_, metrics in lines for metric in metrics) else []
    names: dict[str, dict[str, None]] = {}  # of missing metrics, by reason
    for metric in (metric for pair in evaluations([own]) for metric in metrics_of([own], *pair)):
        if metric.reason is not None and metric.reason not in expected:
            names.setdefault(metric.reason, {})[metric.name] = None
    notes += [f"{', '.join(of_reason)} missing: {reason}" for reason, of_reason in names.items()]
    header = ["filter", "model", "evaluation set", *(FEW.get(m.name) or heading(m) for m in columns.values())]
    return Table(board_title(result), header, rows, notes)


def random_runs(
    result: Result, others: Sequence[Result], committed: Sequence[Result]
) -> tuple[str, list[Result]]:
    """Return the runs of random selection under the protocol of another filter's result, and their label."""
    for label, runs in ((REFERENCE, others), (f"{REFERENCE} (reference)", committed)):
        same = [run for run in runs if run.protocol.fingerprint == result.protocol.fingerprint]
        if found := [run for run in same if run.filter == REFERENCE != result.filter]:
            return label, found
    return "", []


def _cell(metrics: Sequence[Metric], name: str) -> Cell:
    """Return the metric's mean over runs, of a single run with its interval; nothing without such a metric."""
    named = [metric for metric in metrics if metric.name == name]
    values = [metric.value for metric in named if metric.value is not None]
    text = shown(named[0], statistics.fmean(values) if values else None) if named else ""
    if len(named) == 1 and (interval := named[0].interval):
        text += f" ±{shown(named[0], (interval[1] - interval[0]) / 2)}"
    return Cell(text)


def evaluation_tables(records: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of ``task=evaluate``: one per evaluation set and kind of metric, in the order of the labels.

    If one model was evaluated on a set several times, the evaluation that finished last counts.
    """
    ordered = sorted(records, key=lambda record: record.finished)
    latest = {(_quick_look(r), name, r.label): r for r in ordered for name in r.evaluations}
    by_set: dict[tuple[str, str], list[Evaluation]] = {}
    for look, name, label in sorted(latest):
        by_set.setdefault((look, name), []).append(latest[look, name, label])
    return [
        _evaluation_table(f"evaluated on {name}{look}{ending}", name, columns, of_set)
        for (look, name), of_set in by_set.items()
        for ending, columns in table_columns(m for e in of_set for m in e.evaluations[name]).items()
        if any(m.value is not None for e in of_set for m in e.evaluations[name] if m.name in columns)
    ]


def _quick_look(record: Evaluation) -> str:
    """Return what marks an evaluation on some images of each set; empty for a whole one."""
    limit = record.config.get("evalset", {}).get(LIMIT)
    return f": quick look at the first {limit:,} images" if limit else ""


def _evaluation_table(
    title: str, name: str, columns: Mapping[str, Metric], records: Sequence[Evaluation]
) -> Table:
    """Return the table of one evaluation set."""
    rows = []
    for evaluation in records:
        values = {m.name: m for m in evaluation.evaluations[name] if m.value is not None}
        if values.keys() & columns.keys():
            count = max(metric.count for metric in values.values())
            cells = [shown(m, values[m.name].value if m.name in values else None) for m in columns.values()]
            rows.append(plain(evaluation.label, f"{count:,}", *cells))
    header = ["model", "images or queries", *map(heading, columns.values())]
    return Table(title, header, rows, ties_notes(m for e in records for m in e.evaluations[name]))
