"""Comparisons from results and the scores of single images; `golden.md` has their tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.results.report.certainty import (
    ImageScores,
    RunFolders,
    certainty_notes,
    compare_entries,
    parts_of_images,
    read_image_scores,
)
from benchmark.results.report.frame import Measure
from benchmark.results.report.leaderboard import group
from downstream.evaluation.image_scores import ImageScores as Kept
from downstream.metrics.corpus_scores import count_names
from downstream.metrics.intervals import class_weights
from tests.benchmark.results.report.made_results import captioned
from tests.benchmark.results.report.made_run_folders import IMAGES, Folder

CIDER = Measure("captioner", "coco", "CIDEr", "CIDEr")


def test_runs_on_other_images_are_not_paired(tmp_path: Path) -> None:
    runs = Folder(tmp_path)
    for name, mean in (("random", 0.1), ("clip", 0.2), ("icc", 0.3)):
        runs.add(name, [mean, mean + 0.01])
    other = Kept()
    other.add("coco", "CIDEr", [f"other {n}" for n in range(IMAGES)], [0.3] * IMAGES)
    other.write(tmp_path / runs.results[-1].run_id / "captioner")
    found = compare_entries(CIDER, group(runs.results), runs.folders)
    assert [entry.label for entry in found.entries] == ["clip", "icc", "random"]
    assert [estimate.interval is None for estimate in found.comparison.estimates] == [False, True, False]
    assert np.isnan(found.comparison.p_values[1]).all()
    assert found.comparison.better(0, 2)
    assert "for the one pair of 3 filters at 200k, by CIDEr on coco" in certainty_notes([found])[-1]


def read(folder: Path, *added: tuple[str, str, Sequence[Any], Sequence[float]]) -> ImageScores:
    """Scores of single images as a run leaves them, by evaluation set and metric."""
    kept = Kept()
    for evaluation, metric, images, values in added:
        kept.add(evaluation, metric, images, list(values))
    kept.write(folder)
    return read_image_scores(folder)


def test_queries_of_an_image_are_summed_and_counted(tmp_path: Path) -> None:
    scores = read(tmp_path, ("coco", "R", ["b", "a", "b"], [1.0, 0.0, 0.5]), ("flickr", "R", ["c"], [2.0]))
    of = scores["coco", "R"]
    assert (of.images.tolist(), of.sums.tolist(), of.queries.tolist()) == (["a", "b"], [0, 1.5], [1, 2])
    assert scores["flickr", "R"].sums.tolist() == [2.0]
    assert read_image_scores(tmp_path / "nothing") == {}


def test_a_corpus_score_needs_all_of_its_counts(tmp_path: Path) -> None:
    names = enumerate(count_names("BLEU-1"))
    scores = read(tmp_path, *(("coco", name, range(30), [10.0 - n] * 30) for n, name in names))
    one, none = parts_of_images("BLEU-1", "coco", [scores, {}])
    assert none is None
    assert one == pytest.approx(np.zeros(30))  # all images alike: none moves the score
    assert parts_of_images("METEOR", "coco", [scores]) == [None]


def test_zero_shot_is_counted_by_class(tmp_path: Path) -> None:
    labels = np.repeat(np.arange(20), 10)
    added = [("classes", "label", range(200), labels), ("classes", "zero_shot", range(200), labels % 2)]
    scores = read(tmp_path, *added)
    unlabelled = {key: of for key, of in scores.items() if key[1] != "label"}
    for known, count in ((scores, 20), (unlabelled, 200)):
        (parts,) = parts_of_images("zero_shot", "classes", [known])
        assert (len(parts), np.std(parts)) == (count, pytest.approx(0.5))


def test_weighted_hits_are_divided_by_their_weights(tmp_path: Path) -> None:
    labels = np.repeat([0, 1], [10, 30])
    hits = np.where(labels == 0, class_weights(labels), 0)
    added = [("classes", "label", range(40), labels), ("classes", "mean_per_class", range(40), hits)]
    (parts,) = parts_of_images("mean_per_class", "classes", [read(tmp_path, *added)])
    assert parts == pytest.approx([0.5, -0.5])  # .5 without any class left out, 0 and 1 with one


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((0.2, 0.3, 0.4), "30.0 (5.2 to 54.8)"),  # 4.303 standard errors of 10 / sqrt(3)
        ((0.1, 0.2, 0.3), "20.0 (0.0 to 44.8)"),  # CIDEr is not below 0
        ((0.1, 0.3), "20.0 (0.0 to 147.1)"),  # 12.706 standard errors of 10
        ((0.2,), "20.0"),  # of one seed without scores of images
    ],
)
def test_the_interval_of_a_mean_over_seeds(values: tuple[float, ...], text: str) -> None:
    entries = group([captioned("clip", value, seed=seed) for seed, value in enumerate(values)])
    compared = compare_entries(CIDER, entries, RunFolders({}))
    assert compared.cell(entries[0]).whole == text
    assert compared.noises == ["over seeds"] * (len(values) > 1)


def test_intervals_of_a_column_share_a_scale() -> None:
    runs = [captioned("clip", 0.52 + seed / 100, seed=seed) for seed in range(3)]
    entries = group([*runs, captioned("random", 0.13)])
    compared = compare_entries(CIDER, entries, RunFolders({}))
    # 4.3 standard errors: 13 - 4.3 to 13 + 4.3, and 53 - 2.5 to 53 + 2.5, of 8.7 to 55.5
    assert [compared.cell(entry).strip for entry in entries] == [(0.0, 9.2, 18.4), (89.4, 94.7, 100.0)]
