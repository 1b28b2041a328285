"""The leaderboard as one table, for the first screen of a README."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmark.core.errors import UserError
from benchmark.results.protocol import size_text
from benchmark.results.report.certainty import Compared, RunFolders, certainty_notes, compare_entries
from benchmark.results.report.entry_facts import description_percentage, row_notes, scoring_costs
from benchmark.results.report.leaderboard import Entry, Leaderboard, headlines
from benchmark.results.report.table import MISSING, Cell, Table, note_lines, plain, table_lines
from benchmark.results.report.verdicts import board_verdict
from benchmark.results.result import Result

BEST_SIZES = (
    "Best sizes, for each of these metrics in this order: all sizes of the filter that are not shown to be worse than"
    " its size with the highest mean. The noise of seeds is pooled over all sizes."
)


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
    """Return a row per filter, the best first: headline metrics, best sizes, percentage of descriptions, cost.

    The best sizes of a filter are chosen among `boards` of the same setting. Notes begin with the verdict;
    there `shipped` results replace random selection if it was not run.
    """
    measures = headlines(board.entries)
    compared = [compare_entries(measure, board.entries, folders) for measure in measures]
    ranked = [compared[0].entries[index] for index in compared[0].ranking] if compared else []
    entries = ranked + [entry for entry in board.entries if entry not in ranked]
    costs, described = scoring_costs(entries), [description_percentage(entry) for entry in entries]
    columns = {f"{of.heading}, {of.measure.evaluation}": list(map(of.cell, entries)) for of in compared}
    verdict = board_verdict(board.runs, folders, shipped).lines
    notes = [*verdict, board.protocol_note, *board.notes, *certainty_notes(compared)]
    every = [entry for other in same_setting(board, boards) for entry in other.entries]
    if labels := at_several_sizes(every):
        of_all = [compare_entries(measure, every, folders) for measure in measures]
        best = {label: " / ".join(best_sizes(label, of) for of in of_all) for label in labels}
        columns["best sizes"] = [Cell(best.get(entry.label, MISSING)) for entry in entries]
        notes.append(BEST_SIZES)
    if any(percentage is not None for percentage in described):
        columns["descriptions among the kept"] = [_number(percentage, "{:.0f}%") for percentage in described]
    columns[f"scoring, {costs.unit}"] = [_number(costs.seconds[e.label], "{:,.0f}") for e in entries]
    rows = [[Cell(entry.name), *cells] for entry, *cells in zip(entries, *columns.values(), strict=True)]
    return Table(board.title, ["filter", *columns], rows, [*notes, *row_notes(entries), *costs.notes])


def at_several_sizes(entries: Iterable[Entry]) -> set[str]:
    """Return the labels of filters that were run at several sizes."""
    sizes = defaultdict[str, set[int]](set)
    for entry in entries:
        for label in (entry.label, *entry.same):
            sizes[label].add(entry.size)
    return {label for label, of_label in sizes.items() if len(of_label) > 1}


def best_sizes(label: str, compared: Compared) -> str:
    """Return a filter's sizes that are not shown to be worse than its size with the highest mean, as text."""
    comparison, entries = compared.comparison, compared.entries
    rows = [index for index in compared.ranking if label in {entries[index].label, *entries[index].same}]
    if not rows or np.isnan([comparison.p_values[rows[0], other] for other in rows[1:]]).any():
        return "unknown" if rows else MISSING
    sizes = sorted(entries[other].size for other in rows if not comparison.better(rows[0], other))
    return ", ".join(map(size_text, sizes)) if len(sizes) < len(rows) else "any"


def size_table(board: Leaderboard, boards: Sequence[Leaderboard], folders: RunFolders) -> Table:
    """Return each headline metric at every size, of the filters that were run at several; no rows without any."""
    by_size = sorted(same_setting(board, boards), key=lambda other: other.entries[0].size)
    compared = [compare_entries(m, of.entries, folders) for m in headlines(board.entries) for of in by_size]
    several = at_several_sizes(entry for other in by_size for entry in other.entries)
    labels = [entry.label for entry in board.entries if entry.label in several]
    rows = []
    for label in labels:
        found = [(of, of.index(label)) for of in compared]
        texts = [
            MISSING if i is None else of.measure.text(of.comparison.estimates[i].mean) for of, i in found
        ]
        rows.append(plain(label, *texts))
    sizes = [size_text(other.entries[0].size) for other in by_size]
    header = [f"{m.label}, {size}" for m in headlines(board.entries) for size in sizes]
    seeds = []
    for size, other in zip(sizes, by_size, strict=True):
        numbers = {len(entry.runs) for entry in other.entries if entry.label in labels}
        seeds.append(f"{' or '.join(map(str, sorted(numbers)))} at {size}")
    notes = [f"Means, without intervals. Seeds: {', '.join(seeds)}."]
    return Table(f"{board.protocol.title}: sizes", ["filter", *header], rows, notes)


def publish(text: str, tables: Mapping[str, Table], file: str) -> str:
    """Return the Markdown `text` with each table and its notes between the markers of its name, if it has them.

    A marker with a number, ``<!-- leaderboard: 5 rows -->``, takes the first rows. Raises `UserError` for a text
    without any markers.
    """
    replaced = 0
    for name, table in tables.items():
        if marked := re.search(rf"<!-- {name}(?:: (\d+) rows)? -->\n(.*?)<!-- /{name} -->", text, re.DOTALL):
            rows = table.rows[: int(marked[1])] if marked[1] else table.rows
            notes = [f"The first {len(rows)} of {len(table.rows)} rows."] * (len(rows) < len(table.rows))
            lines = [*table_lines(replace(table, rows=rows)), "", *notes, *note_lines(table.notes), ""]
            text = text[: marked.start(2)] + "\n".join(lines) + text[marked.end(2) :]
            replaced += 1
    if not replaced:
        markers = " or ".join(f"<!-- {name} --> and, below it, <!-- /{name} -->" for name in tables)
        raise UserError(f"task.publish: {file} must have the lines {markers}")
    return text


def _number(value: float | None, form: str) -> Cell:
    return Cell(MISSING if value is None else form.format(value))
