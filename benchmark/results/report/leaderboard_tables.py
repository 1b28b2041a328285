"""The tables of leaderboards, each a pivot of the frame: for the terminal, Markdown, README and the page."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from benchmark.core.errors import UserError
from benchmark.results.protocol import size_text
from benchmark.results.report.certainty import RANKS, Compared, RunFolders, certainty_notes, compare_entries
from benchmark.results.report.entry_facts import (
    contamination_notes,
    loss_note,
    noise_kept,
    row_notes,
    scoring_costs,
    seconds_text,
)
from benchmark.results.report.frame import (
    CLASSIFICATION_COLUMNS,
    RETRIEVAL_COLUMNS,
    Measure,
    by_set,
    headlines,
    table_columns,
    ties_notes,
)
from benchmark.results.report.leaderboard import REFERENCE, Entry, Leaderboard, leaderboards
from benchmark.results.report.table import MISSING, Cell, Table, plain
from benchmark.results.report.verdicts import board_verdict
from benchmark.results.result import Result, Row
from benchmark.results.results_folders import ResultsFolders

LEGEND = (
    "A value is bold where its filter is better than every other that competes. ↓: lower is better. The oracle reads"
    " the planted grades: it is a reference, not an upper bound, and has no rank."
)
BEST_SIZES = (
    "Best sizes, per metric in the order of the columns unless equal: the filter's sizes that are not shown to be"
    f" worse than the best filter and size at this budget; {MISSING}: none. Seed variance is pooled over all sizes."
)


class Additions:
    """Nothing; `task.additions` names a subclass, which adds tables, pages, and rows to leaderboards."""

    def rows(
        self, entries: Sequence[Entry], measures: Sequence[Measure]
    ) -> tuple[list[list[Cell]], list[str]]:
        """Return rows below a leaderboard's table, such as a paper's own figures, and notes on them."""
        return [], []

    def of_runs(self, runs: Sequence[Result], folders: RunFolders) -> dict[str, list[Table]]:
        """Return tables over all leaderboards by the names under which `task.publish` puts the first into files."""
        return {}

    def of_records(self, source: ResultsFolders) -> list[Table]:
        """Return tables of other kinds of records in the results folders."""
        return []

    def pages(self, source: ResultsFolders) -> dict[str, str]:
        """Return pages of such records as HTML, by the names of their files."""
        return {}

    def references(self, chosen: Collection[str] | None) -> list[Table]:
        """Return tables that are not of these results, with columns of the `chosen` metrics; None for all."""
        return []


NO_ADDITIONS = Additions()


def leaderboard(
    results: Iterable[Result],
    folders: RunFolders,
    shipped: Sequence[Result] = (),
    additions: Additions = NO_ADDITIONS,
) -> list[Table]:
    """Return the tables of all leaderboards, the verdict above the notes of each one's first table.

    See `board_verdict` for `shipped`.
    """
    tables = []
    for board in leaderboards(results):
        first, *others = board_tables(board, folders, additions)
        tables += [_with_verdict(first, board, folders, shipped), *others]
    return tables


def _with_verdict(table: Table, board: Leaderboard, folders: RunFolders, shipped: Sequence[Result]) -> Table:
    verdict = board_verdict(board.runs, folders, shipped, board.all_sizes).lines
    return replace(table, notes=[*verdict, board.protocol_note, *board.notes, *table.notes])


def board_tables(board: Leaderboard, folders: RunFolders, additions: Additions = NO_ADDITIONS) -> list[Table]:
    """Return how sure the headlines are, the metrics by model and evaluation set, costs, noise kept."""
    entries = board.entries
    tables = [
        certainty_table(f"{board.title}: {measure.title}", compare_entries(measure, entries, folders))
        for measure in headlines(entries)
    ]
    for (model, evaluation), rows in by_set(entries).items():
        for ending, columns in table_columns(row.metric for row in rows).items():
            title = f"{board.title}: {model} on {evaluation}{ending}"
            tables.append(_metric_table(title, rows, list(columns), entries, folders, additions))
    tables.append(_cost_table(f"{board.title}: cost", entries))
    noise = noise_kept(entries)
    known = [entry for entry in entries if entry.label in noise]
    shares = {
        kind: plain(*(f"{of.get(kind, 0):.1f}" for of in noise.values()))
        for kind in sorted({kind for of in noise.values() for kind in of})
    }
    tables.append(_table(f"{board.title}: kept by kind of noise (%)", known, shares, []))
    return [table for table in tables if table.rows]


def _table(
    title: str, entries: Sequence[Entry], columns: Mapping[str, Sequence[Cell]], notes: list[str]
) -> Table:
    """Return a table with a row per entry, and its cells by column."""
    rows = [[Cell(entry.name), *cells] for entry, *cells in zip(entries, *columns.values(), strict=True)]
    return Table(title, ["filter", *columns], rows, notes, entries)


def _numbers(form: str, values: Iterable[float | None]) -> list[Cell]:
    return plain(*(MISSING if value is None else form.format(value) for value in values))


def certainty_table(title: str, compared: Compared) -> Table:
    """Return a row per entry, the best mean first: mean, interval, runs, range of ranks, verdict against random."""
    random, order, comparison = compared.index(REFERENCE), compared.ranking, compared.comparison
    entries = [compared.entries[index] for index in order]
    against = [MISSING if random in (None, i) else comparison.verdict(i, random or 0) for i in order]
    columns = {
        compared.heading: [replace(compared.cell(entry), bold=False) for entry in entries],
        "runs": plain(*(str(comparison.estimates[index].runs) for index in order)),
        "rank": plain(*map(compared.rank, order)),
        "against random": plain(*against),
    }
    return _table(title, entries, columns, [*certainty_notes([compared]), RANKS])


def _metric_table(
    title: str,
    values: Sequence[Row],
    names: Sequence[str],
    entries: Sequence[Entry],
    folders: RunFolders,
    additions: Additions,
) -> Table:
    """Return the table of one model on one evaluation set; without rows if no entry has a value."""
    last = {row.metric.name: row for row in values}
    measures = [Measure.of(last[name]) for name in names]
    compared = [compare_entries(measure, entries, folders) for measure in measures]
    having = [entry for entry in entries if any(of.estimate(entry) for of in compared)]
    reasons = {m.name: m.reason for row in values if (m := row.metric).name in names and m.reason is not None}
    notes = certainty_notes(compared)
    notes += [f"{Measure.of(last[name]).label} is missing: {reason}" for name, reason in reasons.items()]
    more_rows, more_notes = additions.rows(entries, measures) if having else ([], [])
    notes += more_notes
    if not (RETRIEVAL_COLUMNS | CLASSIFICATION_COLUMNS).keys().isdisjoint(names):
        notes += ties_notes(row.metric for row in values)
    table = _table(
        title, having, {of.heading: [of.cell(entry) for entry in having] for of in compared}, notes
    )
    return replace(table, rows=table.rows + more_rows)


def _cost_table(title: str, entries: Sequence[Entry]) -> Table:
    runs, costs = [entry.runs[0] for entry in entries], scoring_costs(entries)
    seconds = [costs.seconds[entry.label] for entry in entries]
    trained = [sum(model.training.seconds for model in run.downstream.values()) for run in runs]
    unit = costs.unit.removeprefix("worker ")
    columns = {
        "kept": _numbers("{:,}", (run.k for run in runs)),
        "distinct": _numbers("{:,}", (run.selection.distinct for run in runs)),
        "threshold": _numbers("{:.4g}", (run.selection.threshold for run in runs)),
        f"scoring {unit}": _numbers("{:.1f}", seconds),
        f"pairs/{unit}": _numbers(
            "{:,.0f}", (run.pairs_read / s if s else None for run, s in zip(runs, seconds, strict=True))
        ),
        "training": plain(*(seconds_text(s) if s else MISSING for s in trained)),
        "peak memory": plain(*map(_memory, runs)),
    }
    every = [(entry.label, run) for entry in entries for run in entry.runs]
    losses = [f"{label} (seed {run.seed}) {note}." for label, run in every for note in loss_note(run)]
    return _table(title, entries, columns, costs.notes + losses + contamination_notes(entries))


def _memory(run: Result) -> str:
    """Return the peak memory of a run's process, and with it that of its workers."""
    process, workers = (size / 2**30 for size in (run.peak_rss_bytes, run.workers_peak_rss_bytes))
    return f"{process:.2g} GiB" + f", workers {workers:.2g} GiB" * (workers > 0) if process else MISSING


def summary_board(boards: Sequence[Leaderboard]) -> Leaderboard:
    """Return the leaderboard with the most runs of the setting with the most runs. Raises `UserError` without any."""
    if not boards or boards[0].protocol.is_quick_try:  # quick looks come last
        raise UserError("task.publish needs results; results_dir has none")
    return max(same_setting(boards[0], boards), key=lambda board: len(board.runs))


def same_setting(board: Leaderboard, boards: Iterable[Leaderboard]) -> list[Leaderboard]:
    """Return the leaderboards that differ from this one at most in size."""
    return [other for other in boards if other.protocol.setting == board.protocol.setting]


def summary_table(
    board: Leaderboard,
    folders: RunFolders,
    boards: Sequence[Leaderboard] = (),
    shipped: Sequence[Result] = (),
) -> Table:
    """Return the `headline_table` with the verdict above its notes.

    There `shipped` results replace random selection if it was not run.
    """
    return _with_verdict(headline_table(board, folders, boards), board, folders, shipped)


def headline_table(board: Leaderboard, folders: RunFolders, boards: Sequence[Leaderboard] = ()) -> Table:
    """Return a row per filter, the best first: headline metrics, best sizes, percentage of descriptions, cost.

    The best sizes of a filter are chosen among `boards` of the same setting.
    """
    measures = headlines(board.entries)
    compared = [compare_entries(measure, board.entries, folders) for measure in measures]
    ranked = [compared[0].entries[index] for index in compared[0].ranking] if compared else []
    entries = ranked + [entry for entry in board.entries if entry not in ranked]
    columns = {
        f"{of.heading}, {of.measure.evaluation}": [_headline_cell(of, entry) for entry in entries]
        for of in compared
    }
    notes = certainty_notes(compared)
    every = [entry for other in same_setting(board, boards) for entry in other.entries]
    if at_several_sizes(every):
        of_all = [compare_entries(measure, every, folders) for measure in measures]
        best = [[best_sizes(entry.label, of) for of in of_all] for entry in entries]
        columns["best sizes"] = plain(*(" / ".join(of if len({*of}) > 1 else of[:1]) for of in best))
        notes.append(BEST_SIZES)
    if noise := noise_kept(entries):
        described = [noise[e.label].get("concrete", 0.0) if e.label in noise else None for e in entries]
        columns["descriptions among the kept"] = _numbers("{:.0f}%", described)
    costs = scoring_costs(entries)
    columns[f"scoring, {costs.unit}"] = _numbers("{:,.0f}", (costs.seconds[e.label] for e in entries))
    return _table(board.title, entries, columns, [*notes, *row_notes(entries), *costs.notes])


def _headline_cell(compared: Compared, entry: Entry) -> Cell:
    """Return the cell with its rank and the difference from random, in brackets if neither of both is better."""
    cell, index, random = compared.cell(entry), compared.position(entry), compared.index(REFERENCE)
    if index is None:
        return cell
    rank = compared.rank(index).replace(MISSING, "").replace(" to ", "–")
    if random in (None, index):
        return replace(cell, rank=rank)
    measure, comparison = compared.measure, compared.comparison
    difference = comparison.estimates[index].mean - comparison.estimates[random or 0].mean
    amount = measure.text(abs(difference))
    text = amount if amount == measure.text(0.0) else ("-" if difference < 0 else "+") + amount
    certain = comparison.better(index, random or 0) or comparison.better(random or 0, index)
    return replace(cell, rank=rank, note=f"{text if certain else f'({text})'} above random")


def at_several_sizes(entries: Iterable[Entry]) -> dict[str, dict[int, Entry]]:
    """Return the entries by label and size, of the filters that were run at several sizes."""
    sizes = defaultdict[str, dict[int, Entry]](dict)
    for entry in entries:
        for label in (entry.label, *entry.same):
            sizes[label][entry.size] = entry
    return {label: of_label for label, of_label in sizes.items() if len(of_label) > 1}


def best_sizes(label: str, compared: Compared) -> str:
    """Return a filter's sizes that are not shown to be worse than the best filter and size, as text."""
    rows = [entry for entry in compared.entries if label in {entry.label, *entry.same}]
    if rows and not all((at := compared.estimate(e)) and at.interval and not at.noise for e in rows):
        return "unknown"
    sizes = sorted(entry.size for entry in rows if entry in compared.not_worse)
    return "any" if len(sizes) == len(rows) > 1 else ", ".join(map(size_text, sizes)) or MISSING


def size_table(board: Leaderboard, boards: Sequence[Leaderboard]) -> Table:
    """Return each headline metric at every size, of the filters that were run at several; no rows without any."""
    every = [entry for other in same_setting(board, boards) for entry in other.entries]
    several, measures = at_several_sizes(every), headlines(board.entries)
    sizes = sorted({entry.size for entry in every})
    rows, seeds = [], defaultdict[int, set[int]](set)
    for label in [entry.label for entry in board.entries if entry.label in several]:
        of_label = several[label]
        for size, entry in of_label.items():
            seeds[size].add(len(entry.runs))
        values = [
            (m, m.values(of_label[size]) if size in of_label else []) for m in measures for size in sizes
        ]
        rows.append(plain(label, *(m.text(fmean(of)) if of else MISSING for m, of in values)))
    runs = [f"{' or '.join(map(str, sorted(seeds[size])))} at {size_text(size)}" for size in sizes]
    notes = [f"Means, without intervals. Seeds: {', '.join(runs)}."]
    header = ["filter", *(f"{m.label}, {size_text(size)}" for m in measures for size in sizes)]
    return Table(f"{board.protocol.title}: sizes", header, rows, notes)
