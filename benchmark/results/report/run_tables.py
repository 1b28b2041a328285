"""Tables of single runs, and of evaluations without a run."""

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from benchmark.results.protocol import LIMIT
from benchmark.results.report.entry_facts import loss_note
from benchmark.results.report.frame import (
    FEW,
    by_set,
    few_columns,
    heading,
    table_columns,
    ties_notes,
    unit_of,
)
from benchmark.results.report.leaderboard import REFERENCE, board_title, of_protocol
from benchmark.results.report.table import MISSING, Cell, Table, plain
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

    Random selection has the same protocol: results among `others`, in the same folder, or else among the
    `committed` results. The notes name metrics that are missing, but not for the reasons `expected` before the run:
    its last line sums these up.
    """
    label, runs = random_runs(result, others, committed)
    random = by_set(runs)
    lines = [
        (name, *pair, [row.metric for row in rows])
        for pair, own in by_set([result]).items()
        for name, rows in ((result.filter, own), (label, random.get(pair, [])))
        if rows
    ]
    columns = few_columns(metrics for *_, metrics in lines)
    rows = [[*plain(*names), *(_cell(metrics, name) for name in columns)] for *names, metrics in lines]
    notes = [f"{result.filter} {note}" for note in loss_note(result)]
    notes += [INTERVAL_NOTE] if any(metric.interval for *_, metrics in lines for metric in metrics) else []
    missing = dict.fromkeys((m.reason, m.name) for row in result.rows if (m := row.metric).reason is not None)
    for reason in dict.fromkeys(reason for reason, _ in missing if reason not in expected):
        notes.append(f"{', '.join(name for of, name in missing if of == reason)} missing: {reason}")
    header = ["filter", "model", "evaluation set", *(FEW.get(m.name) or heading(m) for m in columns.values())]
    return Table(board_title(result), header, rows, notes)


def random_runs(
    result: Result, others: Sequence[Result], committed: Sequence[Result]
) -> tuple[str, list[Result]]:
    """Return the runs of random selection under the protocol of another filter's result, and their label."""
    for label, runs in ((REFERENCE, others), (f"{REFERENCE} (reference)", committed)):
        same = [run for run in of_protocol(runs, result.protocol) if run.filter == REFERENCE != result.filter]
        if same:
            return label, same
    return "", []


def _cell(metrics: Sequence[Metric], name: str) -> Cell:
    """Return the metric's mean over runs, of a single run with its interval; nothing without such a metric."""
    named = [metric for metric in metrics if metric.name == name]
    if not named:
        return Cell("")
    unit, values = unit_of(named[0].unit), [metric.value for metric in named if metric.value is not None]
    text = unit.text(unit.factor * statistics.fmean(values)) if values else MISSING
    if len(named) == 1 and (interval := named[0].interval):
        text += f" ±{unit.text(unit.factor * (interval[1] - interval[0]) / 2)}"
    return Cell(text)


def evaluation_tables(records: Sequence[Evaluation]) -> list[Table]:
    """Return the tables of ``task=evaluate``: one per evaluation set and kind of metric, in the order of the labels.

    If one model was evaluated on a set several times, the evaluation that finished last counts.
    """
    latest: dict[tuple[str, str], dict[str, Evaluation]] = defaultdict(dict)  # by set, then by label
    for record in sorted(records, key=lambda record: record.finished):
        limit = record.config.get("evalset", {}).get(LIMIT)
        look = f": quick look at the first {limit:,} images" if limit else ""
        for name in record.evaluations:
            latest[look, name][record.label] = record
    tables = []
    for (look, name), by_label in sorted(latest.items()):
        sets = {label: record.evaluations[name] for label, record in sorted(by_label.items())}
        every = [metric for metrics in sets.values() for metric in metrics]
        for ending, columns in table_columns(every).items():
            rows = []
            for label, metrics in sets.items():
                known = [replace(m, interval=None) for m in metrics if m.value is not None]
                if any(metric.name in columns for metric in known):
                    cells = [_cell(known, name).text or MISSING for name in columns]
                    rows.append(plain(label, f"{max(metric.count for metric in known):,}", *cells))
            header = ["model", "images or queries", *map(heading, columns.values())]
            tables.append(Table(f"evaluated on {name}{look}{ending}", header, rows, ties_notes(every)))
    return [table for table in tables if table.rows]
