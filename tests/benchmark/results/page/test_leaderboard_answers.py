"""What the page says of a leaderboard as a whole, from results and the scores of single images beside them."""

import re
from pathlib import Path

import numpy as np

from benchmark.results.page.leaderboard_page import LeaderboardView, leaderboard_page, leaderboard_views
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
    view = view_of(tmp_path, {"icc": 0.401, "clip": 0.4, "random": 0.1, "oracle": 0.9}, seeds=3)
    (verdict, _) = view.verdict.verdicts
    assert verdict.heading == "CIDEr on coco"
    assert verdict.sentence == "icc has the highest mean (40.6); not shown to be worse: clip."
    assert view.cheapest[0] == "clip, 46 s of one worker for the 80,000 pairs of this pool"
    assert view.machine == ""
    ranks = {row.label: row.cells[0].rank for row in view.tables[0].rows}
    assert ranks == {"oracle": "", "icc": "1–2", "clip": "1–2", "random": "3"}
    above = {row.label: row.cells[1].text for row in view.tables[0].rows}
    assert above == {"oracle": "+80.0", "icc": "+30.1", "clip": "+30.0", "random": "–"}


def test_the_best_random_and_an_upper_bound_are_shown_first(tmp_path: Path) -> None:
    means = {f"f{n}": 0.2 + n / 100 for n in range(10)} | {"random": 0.1, "oracle": 0.9}
    view = view_of(tmp_path, means)
    assert view.shown == ["random", "oracle", "f9", "f8", "f7", "f6", "f5", "f4"]


def test_one_run_is_compared_with_shipped_results() -> None:
    shipped = [
        full_result(name, 0.1 * n, machine="m") for n, name in enumerate(("random", "clip", "oracle"), 1)
    ]
    shipped += [full_result("random", 0.1, seed=seed, machine="m") for seed in (1, 2)]
    html = leaderboard_page([full_result("icc", 0.25)], RunFolders({}), [], shipped)
    assert "icc: CIDEr, coco 25.0, (+15.0) above random; text-to-image R@1 (%), coco 12.5" in html
    assert re.findall('<tr data-label="icc"[^>]*>', html)[0].endswith('class="own">')
    assert "random†" in html
    assert "<dt>runs</dt><dd>1</dd>" in html
    html = leaderboard_page([full_result("icc", 0.25)], RunFolders({}), [])
    assert "†" not in html
    assert "<code>filter=random,icc seed=0,1,2</code>" in html
    (view,) = leaderboard_views([full_result("icc", 0.25), full_result("oracle", 0.9)], RunFolders({}))
    assert [row.cells[0].rank for row in view.tables[0].rows] == ["", ""]  # nobody to rank it with
    assert "Pareto" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)
