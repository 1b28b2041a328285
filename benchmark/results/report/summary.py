"""The leaderboard as one table and one picture, for the first screen of a README."""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmark.core.errors import UserError
from benchmark.results.report.certainty import Compared, RunFolders, compare_entries
from benchmark.results.report.columns import thousands
from benchmark.results.report.entry_facts import clean_percentage, scoring_costs
from benchmark.results.report.leaderboard import Entry, Measure, headlines, leaderboards
from benchmark.results.report.picture import draw_picture
from benchmark.results.report.table import MISSING, Cell, Table, table_lines
from benchmark.results.result import Result

INTERVALS = (
    "In brackets: the 95% t-interval over seeds; with *, for fewer than three seeds, the 95% bootstrap interval over"
    " evaluation images. Bold: better than every other filter, over images and over seeds."
)


def summary_entries(results: Sequence[Result]) -> list[Entry]:
    """Return the entries of the setting and size with the most runs, best first. Raises `UserError` without any."""
    boards = leaderboards(results)
    if not boards:
        raise UserError("task.publish and task.picture need results; results_dir has none")
    of_setting = [board for board in boards if board.protocol.setting == boards[0].protocol.setting]
    entries = max(of_setting, key=lambda board: _runs(board.entries)).entries
    compared = headlines(entries)
    return sorted(entries, key=lambda entry: -_mean(compared[0], entry)) if compared else entries


def summary_table(entries: Sequence[Entry], folders: RunFolders) -> Table:
    """Return a row per filter: headline metrics, percentage of clean pairs, cost. A note names the protocol."""
    compared = [compare_entries(measure, entries, folders) for measure in headlines(entries)]
    costs, clean = scoring_costs(entries), [clean_percentage(entry) for entry in entries]
    columns = {
        f"{of.measure.label}, {of.measure.evaluation}": [_cell(of, entry) for entry in entries]
        for of in compared
    }
    if any(percentage is not None for percentage in clean):
        columns["clean pairs kept"] = [_number(percentage, "{:.0f}%") for percentage in clean]
    columns[f"scoring, {costs.unit}"] = [_number(costs.seconds[e.label], "{:,.0f}") for e in entries]
    rows = [[Cell(entry.label), *cells] for entry, *cells in zip(entries, *columns.values(), strict=True)]
    protocol = entries[0].runs[0].protocol
    note = f"Protocol: {protocol.name} ({protocol.fingerprint}), {_runs(entries)} runs."
    return Table("", ["filter", *columns], rows, [note, INTERVALS, *costs.notes])


def summary_picture(entries: Sequence[Entry], folders: RunFolders) -> str:
    """Return an SVG file: the ranking of each headline metric, side by side."""
    compared = [compare_entries(measure, entries, folders) for measure in headlines(entries)]
    run = entries[0].runs[0]
    title = (
        f"Size {thousands(run.size)} of pool {run.pool}, mean and 95% interval. Blue: better than random (dashed"
        " line); light blue: too few seeds to tell; orange: not better. Dashed bar: reads the planted grades."
    )
    return draw_picture(title, compared)


def publish(text: str, tables: Mapping[str, Table], file: str) -> str:
    """Return the Markdown `text` with each table and its notes between the markers of its name, if it has them.

    A marker with a number, ``<!-- leaderboard: 5 rows -->``, takes the first rows. Raises `UserError` for a text
    without any markers.
    """
    replaced = 0
    for name, table in tables.items():
        if marked := re.search(rf"<!-- {name}(?:: (\d+) rows)? -->\n(.*?)<!-- /{name} -->", text, re.DOTALL):
            rows = table.rows[: int(marked[1])] if marked[1] else table.rows
            notes = (
                [f"The first {len(rows)} of {len(table.rows)} rows."] if len(rows) < len(table.rows) else []
            )
            lines = [*table_lines(replace(table, rows=rows)), "", *notes, *table.notes, ""]
            text = text[: marked.start(2)] + "\n".join(lines) + text[marked.end(2) :]
            replaced += 1
    if not replaced:
        markers = " or ".join(f"<!-- {name} --> and, below it, <!-- /{name} -->" for name in tables)
        raise UserError(f"task.publish: {file} must have the lines {markers}")
    return text


def _runs(entries: Sequence[Entry]) -> int:
    return sum(len(entry.runs) for entry in entries)


def _mean(measure: Measure, entry: Entry) -> float:
    values = measure.values(entry)
    return measure.signed(statistics.fmean(values)) if values else float("-inf")


def _number(value: float | None, form: str) -> Cell:
    return Cell(MISSING if value is None else form.format(value))


def _cell(compared: Compared, entry: Entry) -> Cell:
    if entry not in compared.entries:
        return Cell(MISSING)
    return Cell(compared.estimate(compared.entries.index(entry)), bold=entry is compared.best())
