"""The leaderboards as data: a CSV file with a row per number, and nested JSON."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from benchmark.core.records import LeftOut
from benchmark.results.report.leaderboard import Entry, Leaderboard
from benchmark.results.result import Result
from downstream.metrics.metric import Metric

HEADER = (
    "run_id", "protocol", "fingerprint", "published", "filter", "label", "family", "size", "k", "pool", "seed",
    "model", "evaluation", "metric", "value", "low", "high", "count", "version", "reason",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@")  # what a spreadsheet takes for the beginning of one
Cell = str | float | None


def leaderboards_csv(boards: Iterable[Leaderboard]) -> str:
    """Return a row per run, model, evaluation set and metric; a metric without value has its reason."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for board in boards:
        for entry in board.entries:
            writer.writerows(_rows(board, entry))
    return text.getvalue()


def _rows(board: Leaderboard, entry: Entry) -> Iterator[list[Cell]]:
    for run in entry.runs:
        protocol = (run.protocol.name, board.protocol.fingerprint, run.protocol.published)
        facts = (run.filter, entry.label, run.family, run.size, run.k, run.pool, run.seed)
        for model, trained in run.downstream.items():
            for evaluation, metrics in trained.evaluations.items():
                for m in metrics:
                    bounds = m.interval or (None, None)
                    measured = (m.name, m.value, *bounds, m.count, m.version, m.reason)
                    cells = (run.run_id, *protocol, *facts, model, evaluation, *measured)
                    yield [_literal(cell) for cell in cells]


def _literal(cell: Cell) -> Cell:
    """Return the cell; a text in one line, and after an apostrophe if a spreadsheet would run it as a formula."""
    if not isinstance(cell, str):
        return cell
    text = " ".join(cell.split())
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
            "label": entry.label,
            "filter": entry.runs[0].filter,
            "family": entry.runs[0].family,
            "upper_bound": entry.is_upper_bound,
            "runs": [_run(run) for run in entry.runs],
        }
        for entry in board.entries
    ]
    run = board.entries[0].runs[0]
    facts = {"title": board.title, "pool": run.pool, "size": run.size, "k": run.k}
    return facts | {"protocol": protocol, "notes": board.notes, "entries": entries}


def _run(run: Result) -> dict[str, Any]:
    models = {model: _evaluations(trained.evaluations) for model, trained in run.downstream.items()}
    return {
        "run_id": run.run_id,
        "seed": run.seed,
        "finished": run.finished,
        "scoring_seconds": run.scoring.seconds,
        "scoring_cpu_seconds": run.scoring.cpu_seconds,
        "kept": run.kept,
        "models": models,
    }


def _evaluations(evaluations: dict[str, list[Metric]]) -> dict[str, Any]:
    return {name: [asdict(metric) for metric in metrics] for name, metrics in evaluations.items()}
