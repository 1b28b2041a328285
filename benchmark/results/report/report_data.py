"""Results as data: leaderboards as CSV and as nested JSON, runs as lines of JSON."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from benchmark.core.records import LeftOut
from benchmark.core.sanitize import visible
from benchmark.results.report.frame import by_set
from benchmark.results.report.leaderboard import Leaderboard
from benchmark.results.result import Result

HEADER = (
    "run_id", "protocol", "fingerprint", "published", "filter", "label", "family", "size", "k", "pool", "seed",
    "model", "evaluation", "metric", "value", "low", "high", "unit", "higher_is_better", "count", "version", "reason",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@")  # what a spreadsheet takes for the beginning of one
Cell = str | float | None


def leaderboards_csv(boards: Iterable[Leaderboard]) -> str:
    """Return a row per run, model, evaluation set and metric; a metric without value has its reason."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_literal(cell) for cell in row] for row in (HEADER, *result_rows(boards)))
    return text.getvalue()


def result_rows(boards: Iterable[Leaderboard]) -> Iterator[tuple[Cell, ...]]:
    """Yield the cells below `HEADER` of each run, model, evaluation set and metric."""
    for board, entry, run in ((b, e, r) for b in boards for e in b.entries for r in e.all_runs):
        protocol = (run.protocol.name, board.protocol.fingerprint, run.protocol.published)
        facts = (run.filter, entry.label, run.family, run.size, run.k, run.pool, run.seed)
        for row in run.rows:
            m = row.metric
            measured = (m.name, m.value, *(m.interval or (None, None)), m.unit, m.higher_is_better, m.count)
            yield (run.run_id, *protocol, *facts, row.model, row.evaluation, *measured, m.version, m.reason)


def _literal(cell: Cell) -> Cell:
    """Return the cell; a text in one line, and after an apostrophe if a spreadsheet would run it as a formula."""
    if not isinstance(cell, str):
        return cell
    text = visible(" ".join(cell.split()))
    return f"'{text}" if text.startswith(FORMULA) else text


def leaderboards_json(boards: Iterable[Leaderboard], left_out: Iterable[LeftOut]) -> str:
    """Return every leaderboard with its protocol, entries, runs and metrics, and the files that were left out."""
    data = {
        "kind": "report",
        "leaderboards": [_board(board) for board in boards],
        "left_out": [{"file": str(file.path), "reason": file.reason} for file in left_out],
    }
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def _board(board: Leaderboard) -> dict[str, Any]:
    protocol = asdict(board.protocol) | {"fingerprint": board.protocol.fingerprint}
    entries = [
        {
            "label": entry.label, "filter": entry.runs[0].filter, "family": entry.runs[0].family,
            "competes": entry.competes,
            "same_selection": {label: [run.run_id for run in runs] for label, runs in entry.same.items()},
            "runs": [_run(run) for run in entry.all_runs],
        }
        for entry in board.entries
    ]  # fmt: skip
    run = board.entries[0].runs[0]
    facts = {"title": board.title, "pool": run.pool, "size": run.size, "k": run.k}
    return facts | {"protocol": protocol, "notes": board.notes, "entries": entries}


def _run(run: Result) -> dict[str, Any]:
    models = {model: asdict(trained)["evaluations"] for model, trained in run.downstream.items()}
    return {
        "run_id": run.run_id, "seed": run.seed, "finished": run.finished, "scoring_seconds": run.scoring.seconds,
        "scoring_cpu_seconds": run.scoring.cpu_seconds, "kept": run.kept, "models": models,
    }  # fmt: skip


def eval_results(results: Iterable[Result]) -> str:
    """Return a line of JSON per run, model and evaluation set, with the metrics that have a value."""
    rows = [
        {"run": result.run_id, "model": model, "evaluation": name}
        | {"metrics": {row.metric.name: row.metric.value for row in of_set if row.metric.value is not None}}
        for result in results
        for (model, name), of_set in by_set([result]).items()
    ]
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)
