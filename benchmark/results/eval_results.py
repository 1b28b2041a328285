"""Results in the form of DataComp's ``eval_results.jsonl``: a row of ``key, dataset, metrics`` per evaluation set."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.results.result import Result
from downstream.metrics.metric import Metric


@dataclass(frozen=True)
class Task:
    """An evaluation set of DataComp (tasklist.yml of its repository) that we have, too.

    Args:
        key: DataComp's key.
        dataset: DataComp's name.
        images: number of its test images; a set of ours with another number is another set, like the demo's.
        main_metric: the metric that DataComp averages over sets.
    """

    key: str
    dataset: str
    images: int
    main_metric: str = "acc1"


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
    "zero_shot_acc@1": "acc1",
    "zero_shot_acc@5": "acc5",
    "zero_shot_mean_per_class": "mean_per_class_recall",
} | {
    f"{ours}_R@{k}": f"{theirs}_recall@{k}"
    for ours, theirs in {"text_to_image": "image_retrieval", "image_to_text": "text_retrieval"}.items()
    for k in (1, 5, 10)
}

RECALLS = ("text_retrieval_recall@1", "image_retrieval_recall@1")


def eval_results(results: Iterable[Result]) -> str:
    """Return a line of JSON per run, model and evaluation set; ``run`` and ``model`` distinguish a set's rows."""
    rows = [row for result in results for row in _rows(result)]
    return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def _rows(result: Result) -> Iterator[dict[str, Any]]:
    for model, trained in result.downstream.items():
        for name, metrics in trained.evaluations.items():
            yield _row(name, metrics) | {"run": result.run_id, "model": model}


def _row(name: str, metrics: Sequence[Metric]) -> dict[str, Any]:
    values = {METRICS.get(m.name, m.name): m.value for m in metrics if m.value is not None}
    recalls = [values[name] for name in RECALLS if name in values]
    if len(recalls) == len(RECALLS):
        values["mean_recall@1"] = sum(recalls) / len(RECALLS)
    task = TASKS.get(name)
    if task is None or all(metric.count != task.images for metric in metrics):
        task = Task(name, name, 0, "mean_recall@1" if recalls else "acc1")
    # As in DataComp, null for a set without such a metric: a captioner's cannot be averaged with accuracies.
    return {
        "key": task.key,
        "dataset": task.dataset,
        "metrics": values | {"main_metric": values.get(task.main_metric)},
    }
