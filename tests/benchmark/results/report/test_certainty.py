"""Comparisons from results and the scores of single images; `golden.md` has their tables."""

from pathlib import Path

import numpy as np
import pytest

from benchmark.results.report.certainty import (
    RunFolders,
    certainty_notes,
    compare_entries,
    parts_of_images,
    read_image_scores,
)
from benchmark.results.report.frame import Measure, headlines
from benchmark.results.report.leaderboard import group, leaderboards
from benchmark.results.report.leaderboard_tables import certainty_table, leaderboard, summary_table
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics.corpus_scores import count_names
from downstream.metrics.intervals import class_weights
from tests.benchmark.results.report.made_results import captioned, texts
from tests.benchmark.results.report.made_run_folders import IMAGES, Folder

CIDER = Measure("captioner", "coco", "CIDEr", "CIDEr")


def test_runs_on_other_images_are_not_paired(tmp_path: Path) -> None:
    runs = Folder(tmp_path)
    for name, mean in (("random", 0.1), ("clip", 0.2), ("icc", 0.3)):
        runs.add(name, [mean, mean + 0.01])
    other = ImageScores()
    other.add("coco", "CIDEr", [f"other {n}" for n in range(IMAGES)], [0.3] * IMAGES)
    other.write(tmp_path / runs.results[-1].run_id / "captioner")
    found = compare_entries(CIDER, group(runs.results), runs.folders)
    assert [entry.label for entry in found.entries] == ["clip", "icc", "random"]
    assert [estimate.interval is None for estimate in found.comparison.estimates] == [False, True, False]
    assert np.isnan(found.comparison.p_values[1]).all()
    assert found.comparison.better(0, 2)
    assert "for the one pair of 3 filters at 200k, by CIDEr on coco" in certainty_notes([found])[-1]


def test_queries_of_an_image_are_summed_and_counted(tmp_path: Path) -> None:
    kept = ImageScores()
    kept.add("coco", "R", ["b", "a", "b"], [1.0, 0.0, 0.5])
    kept.add("flickr", "R", ["c"], [2.0])
    kept.write(tmp_path)
    scores = read_image_scores(tmp_path)
    assert scores["coco", "R"].images.tolist() == ["a", "b"]
    assert scores["coco", "R"].sums.tolist() == [0.0, 1.5]
    assert scores["coco", "R"].queries.tolist() == [1.0, 2.0]
    assert scores["flickr", "R"].sums.tolist() == [2.0]
    assert read_image_scores(tmp_path / "nothing") == {}


def test_a_corpus_score_needs_all_of_its_counts(tmp_path: Path) -> None:
    kept = ImageScores()
    for number, name in enumerate(count_names("BLEU-1")):
        kept.add("coco", name, range(30), [float(10 - number)] * 30)
    kept.write(tmp_path)
    scores = read_image_scores(tmp_path)
    one, none = parts_of_images("BLEU-1", "coco", [scores, {}])
    assert none is None
    assert one is not None
    assert one == pytest.approx(0)  # all images alike: none moves the score
    assert parts_of_images("METEOR", "coco", [scores]) == [None]


def test_the_lowest_is_first_where_lower_is_better(tmp_path: Path) -> None:
    made = Folder(tmp_path, "errors", unit="words", higher_is_better=False)
    for name, means in {
        "random": [3.0, 3.01],
        "icc": [1.0, 1.01],
        "clip": [2.0],
        "tmars": [5.0, 5.01],
    }.items():
        made.add(name, means)
    (board,) = leaderboards(made.results)
    (measure,) = headlines(board.entries)
    rows = texts(certainty_table("t", compare_entries(measure, board.entries, made.folders)))
    assert [(row[0], row[1].partition(" ")[0], row[3], row[4].partition(" ")[0]) for row in rows] == [
        ("icc", "1.0", "1", "better"),
        ("clip", "2.0", "2", "better"),
        ("random", "3.0", "3", "–"),
        ("tmars", "5.0", "4", "worse"),
    ]
    assert [row[0].text for row in summary_table(board, made.folders).rows] == [row[0] for row in rows]
    tables = leaderboard(made.results, made.folders)
    (table,) = [table for table in tables if table.header == ["filter", "errors (words) ↓"]]
    assert [row[0] for row in texts(table) if row[1].startswith("**1.0 (")] == ["icc"]


def test_zero_shot_is_counted_by_class(tmp_path: Path) -> None:
    labels = np.repeat(np.arange(20), 10)
    kept = ImageScores()
    kept.add("classes", "label", range(200), labels.tolist())
    kept.add("classes", "zero_shot", range(200), (labels % 2).astype(float).tolist())  # right by class
    kept.write(tmp_path)
    scores = read_image_scores(tmp_path)
    unlabelled = {key: of for key, of in scores.items() if key[1] != "label"}
    for known, count in ((scores, 20), (unlabelled, 200)):
        (parts,) = parts_of_images("zero_shot", "classes", [known])
        assert parts is not None
        assert len(parts) == count
        assert np.std(parts) == pytest.approx(0.5)


def test_weighted_hits_are_divided_by_their_weights(tmp_path: Path) -> None:
    labels = np.repeat([0, 1], [10, 30])
    kept = ImageScores()
    kept.add("classes", "label", range(40), labels.tolist())
    kept.add("classes", "mean_per_class", range(40), np.where(labels == 0, class_weights(labels), 0).tolist())
    kept.write(tmp_path)
    (parts,) = parts_of_images("mean_per_class", "classes", [read_image_scores(tmp_path)])
    assert parts is not None
    assert parts.tolist() == pytest.approx([0.5, -0.5])  # .5 without any class left out, 0 and 1 with one


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
