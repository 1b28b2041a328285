"""Leaderboards as tables, like Tables 1 and 2 of the ICC paper."""

from collections.abc import Iterable, Sequence

from benchmark.results.report.additions import NO_ADDITIONS, Additions
from benchmark.results.report.certainty import RunFolders, certainty_notes, certainty_table, compare_entries
from benchmark.results.report.columns import (
    CLASSIFICATION_COLUMNS,
    RETRIEVAL_COLUMNS,
    table_columns,
    ties_notes,
)
from benchmark.results.report.entry_facts import cost_notes, scoring_costs
from benchmark.results.report.leaderboard import (
    Entry,
    Leaderboard,
    Measure,
    evaluations,
    headlines,
    leaderboards,
    metrics_of,
)
from benchmark.results.report.table import MISSING, Table, plain
from benchmark.results.report.verdicts import board_verdict
from benchmark.results.result import Result

LEGEND = (
    "A value is bold where its filter is better than every other that competes. ↓: lower is better. The oracle reads"
    " the planted grades: it is a reference, not an upper bound, and has no rank."
)


def leaderboard(
    results: Iterable[Result],
    folders: RunFolders,
    shipped: Sequence[Result] = (),
    additions: Additions = NO_ADDITIONS,
) -> list[Table]:
    """Return per protocol how sure its headlines are, its metrics by model and evaluation set, costs, noise kept.

    The verdict is above the notes of the first table; see `board_verdict` for `shipped`.
    """
    return [table for board in leaderboards(results) for table in _tables(board, folders, shipped, additions)]


def _tables(
    board: Leaderboard, folders: RunFolders, shipped: Sequence[Result], additions: Additions
) -> list[Table]:
    entries = board.entries
    tables = [
        certainty_table(f"{board.title}: {measure.title}", compare_entries(measure, entries, folders))
        for measure in headlines(entries)
    ]
    for model, evaluation in evaluations(entries):
        for ending, columns in table_columns(metrics_of(entries, model, evaluation)).items():
            title = f"{board.title}: {model} on {evaluation}{ending}"
            measures = [Measure.of(model, evaluation, metric) for metric in columns.values()]
            tables.append(_metric_table(title, measures, entries, folders, additions))
    tables += [_cost_table(f"{board.title}: cost", entries)]
    tables += [_noise_table(f"{board.title}: kept by kind of noise (%)", entries)]
    tables = [table for table in tables if table.rows]
    verdict = board_verdict(board.runs, folders, shipped).lines
    tables[0].notes[:0] = [*verdict, board.protocol_note, *board.notes]
    return tables


def _metric_table(
    title: str,
    measures: Sequence[Measure],
    entries: Sequence[Entry],
    folders: RunFolders,
    additions: Additions,
) -> Table:
    """Return the table of one model on one evaluation set; without rows if no entry has a value."""
    model, evaluation = measures[0].model, measures[0].evaluation
    labels = {measure.metric: measure.label for measure in measures}
    metrics = metrics_of(entries, model, evaluation)
    compared = [compare_entries(measure, entries, folders) for measure in measures]
    rows = [
        [*plain(entry.name), *(of_metric.cell(entry) for of_metric in compared)]
        for entry in entries
        if any(entry in of_metric.entries for of_metric in compared)
    ]
    reasons = {m.name: m.reason for m in metrics if m.name in labels and m.reason is not None}
    notes = certainty_notes(compared)
    notes += [f"{labels[name]} is missing: {reason}" for name, reason in reasons.items()]
    if rows:
        more_rows, more_notes = additions.rows(entries, measures)
        rows, notes = rows + more_rows, notes + more_notes
    if not labels.keys().isdisjoint(RETRIEVAL_COLUMNS | CLASSIFICATION_COLUMNS):
        notes += ties_notes(metrics)
    return Table(title, ["filter", *(of_metric.heading for of_metric in compared)], rows, notes)


def _cost_table(title: str, entries: Sequence[Entry]) -> Table:
    rows = []
    costs = scoring_costs(entries)
    for entry in entries:
        run, seconds = entry.runs[0], costs.seconds[entry.label]
        threshold = run.selection.threshold
        cells = (
            f"{run.k:,}",
            f"{run.selection.distinct:,}",
            MISSING if threshold is None else f"{threshold:.4g}",
            MISSING if seconds is None else f"{seconds:.1f}",
            f"{run.pairs_read / seconds:,.0f}" if seconds else MISSING,
        )
        rows.append(plain(entry.name, *cells))
    unit = "processor s" if costs.unit == "processor s" else "s"
    header = ["filter", "kept", "distinct", "threshold", f"scoring {unit}", f"pairs/{unit}"]
    return Table(title, header, rows, cost_notes(entries, costs))


def _noise_table(title: str, entries: Sequence[Entry]) -> Table:
    """Return the percentage of each planted kind of noise among the kept pairs; no rows if the noise is unknown."""
    kinds = sorted({kind for entry in entries for kind in entry.runs[0].kept})
    rows = []
    for entry in entries:
        kept = entry.runs[0].kept
        if total := sum(kept.values()):
            rows.append(plain(entry.name, *(f"{100 * kept.get(kind, 0) / total:.1f}" for kind in kinds)))
    return Table(title, ["filter", *(kind.replace("_", " ") for kind in kinds)], rows)
