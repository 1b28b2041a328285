"""What the page says of a leaderboard as a whole, from results and the scores of single images beside them."""

from pathlib import Path

import numpy as np

from benchmark.results.page.leaderboard_page import Answer, LeaderboardView, leaderboard_views
from benchmark.results.report.certainty import RunFolders
from benchmark.results.result import Result
from downstream.evaluation.image_scores import ImageScores
from tests.benchmark.results.report.made_run_folders import full_result

IMAGES = 200


def view_of(path: Path, means: dict[str, float], seeds: int = 1) -> LeaderboardView:
    """The leaderboard of filters by their CIDEr, whose scores of single images differ little from it."""
    runs: list[Result] = []
    for number, (name, mean) in enumerate(means.items()):
        for seed in range(seeds):
            run = full_result(name, mean + seed / 200, seed=seed)
            noise = np.random.default_rng([number, seed]).normal(0, 0.05, IMAGES)
            kept = ImageScores()
            kept.add("coco", "CIDEr", range(IMAGES), (mean + seed / 200 + noise - noise.mean()).tolist())
            kept.write(path / run.run_id / "captioner")
            runs.append(run)
    (view,) = leaderboard_views(runs, RunFolders({run.run_id: path / run.run_id for run in runs}))
    return view


def test_filters_that_no_test_tells_apart_are_named_together(tmp_path: Path) -> None:
    view = view_of(tmp_path, {"icc": 0.401, "clip": 0.4, "random": 0.1, "oracle": 0.9})
    assert view.answers == [Answer("CIDEr, coco", ["icc", "clip"], False, "clip", "46 s")]
    ranks = {row.label: row.cells[0].notes[1:] for row in view.tables[0].rows}
    assert ranks == {
        "oracle": (),
        "icc": ("rank 1 to 2*",),
        "clip": ("rank 1 to 2*",),
        "random": ("rank 3*",),
    }


def test_one_seed_is_never_sure(tmp_path: Path) -> None:
    (answer,) = view_of(tmp_path, {"icc": 0.5, "clip": 0.4, "random": 0.1}).answers
    assert (answer.labels, answer.sure) == (["icc"], False)


def test_three_seeds_that_agree_are_sure(tmp_path: Path) -> None:
    (answer,) = view_of(tmp_path, {"icc": 0.5, "clip": 0.4, "random": 0.1}, seeds=3).answers
    assert (answer.labels, answer.sure) == (["icc"], True)


def test_without_scores_of_images_there_is_no_answer() -> None:
    (view,) = leaderboard_views([full_result("icc", 0.5), full_result("clip", 0.4)], RunFolders({}))
    assert view.answers == []


def test_one_filter_has_nobody_to_compare_with(tmp_path: Path) -> None:
    assert view_of(tmp_path, {"icc": 0.5, "oracle": 0.9}).answers == []
