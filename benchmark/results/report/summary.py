"""The leaderboard as one table and one picture, for the first screen of a README."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmark.core.errors import UserError
from benchmark.results.report.certainty import RunFolders, compare_entries
from benchmark.results.report.columns import thousands
from benchmark.results.report.entry_facts import clean_percentage, scoring_costs
from benchmark.results.report.leaderboard import Leaderboard, headlines, leaderboards
from benchmark.results.report.picture import draw_picture
from benchmark.results.report.table import MISSING, Cell, Table, table_lines
from benchmark.results.result import Result

INTERVALS = (
    "In brackets: the 95% t-interval over seeds; with *, for fewer than three seeds, the 95% bootstrap interval over"
    " evaluation images. Bold: better than every other filter, over images and over seeds."
)


def summary_board(results: Sequence[Result]) -> Leaderboard:
    """Return the leaderboard with the most runs of the setting with the most runs. Raises `UserError` without any."""
    boards = leaderboards(results)
    if not boards:
        raise UserError("task.publish and task.picture need results; results_dir has none")
    of_setting = [board for board in boards if board.protocol.setting == boards[0].protocol.setting]
    return max(of_setting, key=lambda board: sum(len(entry.runs) for entry in board.entries))


def summary_table(board: Leaderboard, folders: RunFolders) -> Table:
    """Return a row per filter, the best first: headline metrics, percentage of clean pairs, cost."""
    compared = [compare_entries(measure, board.entries, folders) for measure in headlines(board.entries)]
    ranked = [compared[0].entries[index] for index in compared[0].ranking] if compared else []
    entries = ranked + [entry for entry in board.entries if entry not in ranked]
    costs, clean = scoring_costs(entries), [clean_percentage(entry) for entry in entries]
    columns = {
        f"{of.measure.label}, {of.measure.evaluation}": [of.cell(e, brackets=True) for e in entries]
        for of in compared
    }
    if any(percentage is not None for percentage in clean):
        columns["clean pairs kept"] = [_number(percentage, "{:.0f}%") for percentage in clean]
    columns[f"scoring, {costs.unit}"] = [_number(costs.seconds[e.label], "{:,.0f}") for e in entries]
    rows = [[Cell(entry.label), *cells] for entry, *cells in zip(entries, *columns.values(), strict=True)]
    notes = [board.protocol_note, *board.notes, INTERVALS, *costs.notes]
    return Table(board.title, ["filter", *columns], rows, notes)


def summary_picture(board: Leaderboard, folders: RunFolders) -> str:
    """Return an SVG file: the ranking of each headline metric, side by side."""
    compared = [compare_entries(measure, board.entries, folders) for measure in headlines(board.entries)]
    run = board.entries[0].runs[0]
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


def _number(value: float | None, form: str) -> Cell:
    return Cell(MISSING if value is None else form.format(value))
