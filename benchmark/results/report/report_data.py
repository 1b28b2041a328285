"""Results as data: leaderboards as CSV and as nested JSON, runs in the form of DataComp's ``eval_results.jsonl``."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmark.core.records import LeftOut
from benchmark.core.sanitize import visible
from benchmark.results.report.frame import by_set
from benchmark.results.report.leaderboard import Leaderboard
from benchmark.results.result import Result
from downstream.metrics.metric import Metric

HEADER = (
    "run_id", "protocol", "fingerprint", "published", "filter", "label", "family", "size", "k", "pool", "seed",
    "model", "evaluation", "metric", "value", "low", "high", "unit", "higher_is_better", "count", "version", "reason",
)  # fmt: skip
FORMULA = ("=", "+", "-", "@")  # what a spreadsheet takes for the beginning of one
Cell = str | float | None


@dataclass(frozen=True)
class Task:
    """An evaluation set of DataComp (tasklist.yml of its repository) that we have, too."""

    key: str
    dataset: str
    # Number of its test images; a set of ours with another number is another set, like the demo's.
    images: int
    main_metric: str = "acc1"  # the metric that DataComp averages over sets


TASKS = {
    "coco": Task("retrieval/mscoco_2014_5k_test_image_text_retrieval", "MSCOCO", 5_000, "mean_recall@1"),
    "flickr30k": Task("retrieval/flickr_1k_test_image_text_retrieval", "Flickr", 1_000, "mean_recall@1"),
    "caltech101": Task("vtab/caltech101", "Caltech-101", 6_085, "mean_per_class_recall"),
    "cifar10": Task("cifar10", "CIFAR-10", 10_000),
    "cifar100": Task("vtab/cifar100", "CIFAR-100", 10_000),
    "dtd": Task("vtab/dtd", "Describable Textures", 1_880),
    "food101": Task("food101", "Food-101", 25_250),
    "imagenet": Task("imagenet1k", "ImageNet 1k", 50_000),
    "pets": Task("vtab/pets", "Oxford-IIIT Pet", 3_669, "mean_per_class_recall"),
    "sun397": Task("sun397", "SUN397", 108_754),
}
# Our metrics by DataComp's names, which are CLIP_benchmark's; all others keep our names.
METRICS = {
    "zero_shot_acc@1": "acc1", "zero_shot_acc@5": "acc5", "zero_shot_mean_per_class": "mean_per_class_recall",
    **{f"text_to_image_R@{k}": f"image_retrieval_recall@{k}" for k in (1, 5, 10)},
    **{f"image_to_text_R@{k}": f"text_retrieval_recall@{k}" for k in (1, 5, 10)},
}  # fmt: skip
RECALLS = ("text_retrieval_recall@1", "image_retrieval_recall@1")


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
    """Return a line of JSON per run, model and evaluation set; ``run`` and ``model`` distinguish a set's rows."""
    rows = [
        _set_row(name, [row.metric for row in of_set]) | {"run": result.run_id, "model": model}
        for result in results
        for (model, name), of_set in by_set([result]).items()
    ]
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def _set_row(name: str, metrics: Sequence[Metric]) -> dict[str, Any]:
    values = {METRICS.get(m.name, m.name): m.value for m in metrics if m.value is not None}
    recalls = [values[name] for name in RECALLS if name in values]
    if len(recalls) == len(RECALLS):
        values["mean_recall@1"] = sum(recalls) / len(RECALLS)
    task = TASKS.get(name)
    if task is None or all(metric.count != task.images for metric in metrics):
        task = Task(name, name, 0, "mean_recall@1" if recalls else "acc1")
    # As in DataComp, null for a set without such a metric: a captioner's cannot be averaged with accuracies.
    values_and_main = values | {"main_metric": values.get(task.main_metric)}
    return {"key": task.key, "dataset": task.dataset, "metrics": values_and_main}
