"""Rows of DataComp's ``eval_results.jsonl`` from made results."""

import json
from dataclasses import replace
from typing import Any

from benchmark.results.report.report_data import eval_results
from downstream.metrics.metric import Metric
from tests.benchmark.results.report.made_results import metric, result, trained

RETRIEVAL = [
    metric("text_to_image_R@1", 0.2),
    metric("image_to_text_R@1", 0.4),
    metric("image_to_text_R@5", 0.6),
]
ZERO_SHOT = [metric("zero_shot_acc@1", 0.5), metric("zero_shot_mean_per_class", 0.3)]


def sized(metrics: list[Metric], images: int) -> list[Metric]:
    return [replace(m, count=images) for m in metrics]


def row(name: str, metrics: list[Metric]) -> dict[str, Any]:
    made = result("icc", downstream={"dual_encoder": trained(**{name: metrics})})
    (line,) = eval_results([made]).splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def test_retrieval_has_datacomps_names() -> None:
    assert row("coco", sized(RETRIEVAL, 5000)) == {
        "key": "retrieval/mscoco_2014_5k_test_image_text_retrieval",
        "dataset": "MSCOCO",
        "metrics": {
            "image_retrieval_recall@1": 0.2, "text_retrieval_recall@1": 0.4, "text_retrieval_recall@5": 0.6,
            "mean_recall@1": (0.2 + 0.4) / 2, "main_metric": (0.2 + 0.4) / 2,
        },
        "run": "demo-icc-200000-0", "model": "dual_encoder",
    }  # fmt: skip


def test_main_metric_is_the_one_datacomp_averages() -> None:
    imagenet, pets = row("imagenet", sized(ZERO_SHOT, 50_000)), row("pets", sized(ZERO_SHOT, 3_669))
    assert (imagenet["key"], imagenet["dataset"]) == ("imagenet1k", "ImageNet 1k")
    assert imagenet["metrics"] == {"acc1": 0.5, "mean_per_class_recall": 0.3, "main_metric": 0.5}
    assert pets["metrics"]["main_metric"] == 0.3


def test_a_set_of_another_size_keeps_our_name() -> None:
    demo = row("coco", sized(RETRIEVAL, 500))
    assert (demo["key"], demo["dataset"]) == ("coco", "coco")
    assert demo["metrics"]["main_metric"] == demo["metrics"]["mean_recall@1"]


def test_captioning_has_our_names_and_no_main_metric() -> None:
    captioning = row("coco", [metric("CIDEr", 0.9), metric("SPICE", None, "no jar")])
    assert captioning["metrics"] == {"CIDEr": 0.9, "main_metric": None}


def test_a_row_per_run_model_and_set() -> None:
    both = {"a": trained(coco=RETRIEVAL, nocaps=[metric("CIDEr", 1.0)]), "b": trained(coco=RETRIEVAL)}
    lines = eval_results(
        [result("icc", downstream=both), result("icc", seed=1, downstream=both)]
    ).splitlines()
    found = [tuple(json.loads(line)[name] for name in ("run", "model", "dataset")) for line in lines]
    assert len(set(found)) == len(found) == 6
