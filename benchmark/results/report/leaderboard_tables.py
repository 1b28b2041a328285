"""Leaderboards as tables, like Tables 1 and 2 of the ICC paper."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from benchmark.core.batch import NO_SCORE
from benchmark.results.report.certainty import RunFolders, certainty_table, compare_entries
from benchmark.results.report.columns import (
    CLASSIFICATION_COLUMNS,
    COLUMNS,
    RETRIEVAL_COLUMNS,
    metric_cell,
    ties_notes,
)
from benchmark.results.report.entry_facts import contamination_notes, loss_notes, scoring_costs
from benchmark.results.report.leaderboard import (
    Entry,
    Headline,
    Leaderboard,
    evaluations,
    headlines,
    leaderboards,
)
from benchmark.results.report.published_figures import paper_rows
from benchmark.results.report.table import MISSING, Table, plain
from benchmark.results.result import Result
from downstream.metrics.metric import Metric

LEGEND = (
    "A value is bold where its filter is better than every other, over images and over seeds; ± is half of the 95%"
    " t-interval over three seeds or more. The oracle reads the planted noise labels: it does not compete."
)
Values = dict[str, list[float]]  # of each metric, one per run


def leaderboard(results: Iterable[Result], folders: RunFolders) -> list[Table]:
    """Return per protocol how sure its headlines are, its metrics by model and evaluation set, costs, noise kept."""
    return [table for board in leaderboards(results) for table in _board_tables(board, folders)]


def _board_tables(board: Leaderboard, folders: RunFolders) -> list[Table]:
    entries = board.entries
    tables = [
        certainty_table(f"{board.title}: {headline.title}", compare_entries(headline, entries, folders))
        for headline in headlines(entries)
    ]
    tables += [
        _metric_table(board, ending, model, evaluation, folders)
        for model, evaluation in evaluations(entries)
        for ending in COLUMNS
    ]
    tables += [_cost_table(f"{board.title}: cost", entries)]
    tables += [_noise_table(f"{board.title}: kept by kind of noise (%)", entries)]
    tables = [table for table in tables if table.rows]
    tables[0].notes[:0] = board.notes
    return tables


def _metric_table(board: Leaderboard, ending: str, model: str, evaluation: str, folders: RunFolders) -> Table:
    """Return the table of one downstream model on one evaluation set; without rows if no entry has a column of it."""
    entries, abbreviations = board.entries, COLUMNS[ending]
    reasons = {
        metric.name: metric.reason
        for entry in entries
        for metric in _metrics(entry, model, evaluation)
        if metric.reason is not None and metric.name in abbreviations
    }
    values = [(entry, _values(entry, model, evaluation, abbreviations)) for entry in entries]
    values = [(entry, by_name) for entry, by_name in values if by_name]
    names = {name for _, by_name in values for name in by_name} | set(reasons)
    columns = {name: short for name, short in abbreviations.items() if name in names}
    best = {
        name: compare_entries(Headline(model, name, evaluation, short), entries, folders).best()
        for name, short in columns.items()
    }
    rows = [
        plain(entry.label)
        + [metric_cell(name, by_name.get(name, []), bold=entry is best[name]) for name in columns]
        for entry, by_name in values
    ]
    notes = [f"{columns[name]} is missing: {reason}" for name, reason in reasons.items()]
    if rows:
        of_papers, sources = paper_rows(entries, model, evaluation, columns)
        rows, notes = rows + of_papers, notes + sources
    if not columns.keys().isdisjoint(RETRIEVAL_COLUMNS | CLASSIFICATION_COLUMNS):
        notes += ties_notes(m for entry in entries for m in _metrics(entry, model, evaluation))
    title = f"{board.title}: {model} on {evaluation}{ending}"
    return Table(title, ["filter", *columns.values()], rows, notes)


def _metrics(entry: Entry, model: str, evaluation: str) -> Iterator[Metric]:
    for run in entry.runs:
        if model in run.downstream:
            yield from run.downstream[model].evaluations.get(evaluation, [])


def _values(entry: Entry, model: str, evaluation: str, names: Iterable[str]) -> Values:
    values: Values = defaultdict(list)
    for metric in _metrics(entry, model, evaluation):
        if metric.name in names and metric.value is not None:
            values[metric.name].append(metric.value)
    return values


def _cost_table(title: str, entries: Sequence[Entry]) -> Table:
    rows = []
    costs = scoring_costs(entries)
    for entry in entries:
        run = entry.runs[0]
        seconds = costs.seconds[entry.label]
        read = run.selection.scored + run.selection.drops.get(NO_SCORE, 0)  # both were given to the filter
        cells = [
            entry.label,
            f"{run.k:,}",
            f"{run.selection.distinct:,}",
            MISSING if run.selection.threshold is None else f"{run.selection.threshold:.4g}",
            MISSING if seconds is None else f"{seconds:.1f}",
            f"{read / seconds:,.0f}" if seconds else MISSING,
        ]
        rows.append(plain(*cells))
    unit = "processor s" if costs.unit == "processor s" else "s"
    header = ["filter", "kept", "distinct", "threshold", f"scoring {unit}", f"pairs/{unit}"]
    return Table(title, header, rows, costs.notes + loss_notes(entries) + contamination_notes(entries))


def _noise_table(title: str, entries: Sequence[Entry]) -> Table:
    """Return the share of each planted kind of noise among the pairs kept; no rows for pools of unknown noise."""
    kinds = sorted({kind for entry in entries for kind in entry.runs[0].kept})
    rows = []
    for entry in entries:
        kept = entry.runs[0].kept
        if total := sum(kept.values()):
            shares = [f"{100 * kept.get(kind, 0) / total:.1f}" for kind in kinds]
            rows.append(plain(entry.label, *shares))
    return Table(title, ["filter", *(kind.replace("_", " ") for kind in kinds)], rows)
