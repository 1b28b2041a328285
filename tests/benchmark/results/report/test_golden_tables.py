"""All tables of a report on made runs, as `golden.md` has them.

After a wanted change of tables: ``python -m tests.benchmark.results.report.test_golden_tables`` writes the file.
"""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.results.protocol import Protocol
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import Leaderboard, leaderboards
from benchmark.results.report.leaderboard_tables import leaderboard, size_table, summary_table
from benchmark.results.report.run_tables import evaluation_tables, run_table
from benchmark.results.report.table import Table, to_markdown
from benchmark.results.result import Contamination, DownstreamResult, Evaluation, Result, Scoring
from downstream.evaluation.image_scores import ImageScores
from tests.benchmark.results.report.made_results import metric, protocol, result, trained
from tests.benchmark.results.report.made_run_folders import measured

GOLDEN = Path(__file__).with_name("golden.md")
IMAGES, CLASSES = 200, 20
QUICK = {"quick try": "the first 20 images of each evaluation set, comparable to nothing"}
TOYS = {"downstream": {"captioner": {"encoder": "pairsift/demo/models/swin"}}, "pool": {"name": "mine"}}
SEEDS = {"random": 3, "icc": 3, "clip": 2, "oracle": 2, "tmars": 1}
QUALITIES = {"random": 0.10, "icc": 0.30, "clip": 0.28, "oracle": 0.50, "tmars": 0.11}


class Runs:
    """Runs of two models, with the scores of single images in the folder `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: list[Result] = []

    def add(self, name: str, quality: float, seed: int = 0, **changes: Any) -> Result:
        rng = np.random.default_rng([len(self.results), seed])
        difficulty = np.random.default_rng(0).normal(0, 0.1, IMAGES)
        cider = quality + difficulty + rng.normal(0, 0.02, IMAGES) + rng.normal(0, 0.01)
        labels = np.repeat(np.arange(CLASSES), IMAGES // CLASSES)
        hits = (rng.random(IMAGES) < quality).astype(float)
        models = self._models(float(cider.mean()), float(hits.mean()), quality)
        made = result(name, seed=seed, downstream=models, **changes)
        made = replace(made, run_id=f"{made.run_id}-{len(self.results)}")
        images = ImageScores()
        images.add("coco", "CIDEr", range(IMAGES), cider.tolist())
        images.write(self.path / made.run_id / "captioner")
        images = ImageScores()
        images.add("classes", "label", range(IMAGES), labels.tolist())
        images.add("classes", "zero_shot", range(IMAGES), hits.tolist())
        images.write(self.path / made.run_id / "dual_encoder")
        self.results.append(made)
        return made

    @staticmethod
    def _models(cider: float, accuracy: float, quality: float) -> dict[str, DownstreamResult]:
        captions = [metric("CIDEr", cider), metric("SPICE", None, "no Java"), metric("BERTScore", 0.8)]
        captions += [metric("BLEU-1", 0.5, detail=True), metric("Unique-1", 3.0 + quality)]
        errors = metric("errors", 5 - 4 * quality, unit="words", higher_is_better=False)
        pairs = [metric("text_to_image_R@1", quality / 2), metric("text_to_image_tied", quality / 50)]
        classes = [metric("zero_shot", accuracy), metric("linear_probe", None, "the image tower is locked")]
        return {
            "captioner": trained(coco=[*captions, errors]),
            "dual_encoder": trained(coco=pairs, classes=classes),
        }


def selected(run: Result, sha256: str, **changes: Any) -> Result:
    return replace(run, selection=replace(run.selection, sha256=sha256, **changes))


def made_runs(path: Path) -> Runs:
    runs, kept = Runs(path), {"concrete": 15, "web_string": 5}
    for name, quality in QUALITIES.items():
        for seed in range(SEEDS[name]):
            runs.add(
                name, quality, seed, kept=kept, scoring=Scoring(12.5, 0.0, None if name == "tmars" else 8.0)
            )
            runs.results[-1] = selected(runs.results[-1], f"{name} {seed}")
    same = runs.results[0]
    whole = replace(
        same, filter="no_filter", run_id="whole", peak_rss_bytes=2**31, workers_peak_rss_bytes=3 * 2**30
    )
    runs.results.append(selected(whole, "random 0", tied=72_000))
    for name, sha256, changes in (
        ("clip", "sorted", {"selector": "cluster_sorted"}),
        ("clip", "bounded", {"config": {"minimum": 0.3, "_target_": "clip", "weights": "/a/l14"}}),
        ("icc", "lossy", {"lost": {"image_missing": 7}, "threshold": None}),
    ):
        runs.add(name, 0.2, contamination={"coco": Contamination(9, 2, 4, 3)})
        runs.results[-1] = selected(runs.results[-1], sha256, **changes)
    captions = {"captions": {"columns": [], "files": ["described"]}}
    described = {"machine": "two fast cores", "scoring": Scoring(1.0, 0.0, 0.5), "config": captions}
    runs.add("clip", 0.29, kept={"concrete": 1, "near_duplicate": 3}, **described)
    for size, quality in ((100_000, 0.1), (500_000, 0.29)):
        for seed in range(2):
            runs.add("clip", quality, seed, size=size)
    runs.add("random", 0.1, size=100_000)
    for seed in range(2):  # better than all others
        runs.add("icc", 0.9, seed, size=100_000)
    runs.add("icc", 0.9, protocol=protocol(**{"captioner.training.samples_seen": "2000"}))
    overridden = Protocol("mine, budget=9", {"pool": "mine"}, overridden=("budget=9",))
    runs.add("icc", 0.3, protocol=overridden, overrides=["pool=mine", "filter=icc", "budget=9"])
    quick = Protocol("quick try: mine", {"pool": "mine", **QUICK})
    runs.add("icc", 0.3, protocol=quick, config=TOYS)
    runs.add("random", 0.1, protocol=quick, config=TOYS)
    return runs


def all_tables(path: Path) -> dict[str, list[Table]]:
    runs = made_runs(path)
    folders = RunFolders({run.run_id: path / run.run_id for run in runs.results})
    boards: list[Leaderboard] = leaderboards(runs.results)
    first = next(run for run in runs.results if run.filter == "icc")
    interval = {"captioner": trained(coco=[measured("CIDEr", 0.5), metric("SPICE", None, "no Java")])}
    others = [run for run in runs.results if run.filter == "random"]
    lossy = next(run for run in runs.results if run.selection.lost)
    ties = [metric("zero_shot", 0.3), metric("zero_shot_tied", 0.5)]
    evaluations = [
        Evaluation("a", "a", {}, {"coco": [metric("CIDEr", 0.6), metric("Unique-1", 2.0)]}, {}, finished="2"),
        Evaluation("a", "a", {}, first.downstream["captioner"].evaluations, {}, finished="1"),
        Evaluation("b", "b", {}, {"coco": ties, "nocaps": []}, {}),
        Evaluation("c", "c", {}, {"coco": [metric("CIDEr", 0.1)]}, {"evalset": {"limit": 20}}),
    ]
    return {
        "all tables": leaderboard(runs.results, folders),
        "summaries": [summary_table(board, folders, boards) for board in boards],
        "sizes": [size_table(boards[0], boards)],
        "runs": [
            run_table(first, others),
            run_table(lossy, [], others[:1], frozenset({"no Java"})),
            run_table(others[0], others),
            run_table(result("clip", downstream=interval), others),
        ],
        "evaluations": evaluation_tables(evaluations),
    }


def golden(path: Path) -> str:
    return "\n".join(to_markdown(name, "", tables) for name, tables in all_tables(path).items())


def test_all_tables_are_as_in_the_golden_file(tmp_path: Path) -> None:
    assert golden(tmp_path).splitlines() == GOLDEN.read_text(encoding="utf-8").splitlines()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(golden(Path(folder)), encoding="utf-8")
