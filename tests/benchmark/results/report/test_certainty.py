"""Tables that say how sure a comparison is, from results and the scores of single images beside them."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.results.report.certainty import (
    RunFolders,
    compare_entries,
    parts_of_images,
    read_image_scores,
)
from benchmark.results.report.frame import Measure, headlines
from benchmark.results.report.leaderboard import REFERENCE_ONLY, group, leaderboards
from benchmark.results.report.leaderboard_tables import certainty_table, leaderboard, summary_table
from benchmark.results.result import Result
from downstream.evaluation.image_scores import ImageScores
from downstream.metrics.corpus_scores import count_names
from pairsift.studies.findings import findings_tables
from tests.benchmark.results.report.made_results import captioned, metric, result, texts, trained
from tests.benchmark.results.report.made_run_folders import IMAGES, Folder

CIDER = Measure("captioner", "coco", "CIDEr", "CIDEr")


@pytest.fixture
def runs(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.add("random", [0.10, 0.11, 0.12])
    folder.add("icc", [0.30, 0.31, 0.32])
    folder.add("clip", [0.09, 0.12, 0.13])
    folder.add("tmars", [0.20])
    folder.add("oracle", [0.50, 0.51, 0.52])
    return folder


def test_rank_and_verdict_say_what_the_data_supports(runs: Folder) -> None:
    table = certainty_table("t", compare_entries(CIDER, group(runs.results), runs.folders))
    by_label = {row[0].removesuffix(REFERENCE_ONLY): row for row in texts(table)}
    assert list(by_label) == ["oracle", "icc", "tmars", "clip", "random"]
    assert by_label["icc"][2:] == ["3", "1", "better (p < .001)"]
    assert by_label["clip"][3] == "3 to 4"
    assert by_label["clip"][4].startswith("not shown (p ")
    assert by_label["random"][2:] == ["3", "3 to 4", "–"]
    assert by_label["tmars"][2:] == ["1", "2", "better (p .003)"]
    assert by_label["oracle"][3:] == ["–", "better (p < .001)"]
    widths = {}
    for label in ("icc", "tmars"):
        mean, low, high = map(float, re.findall(r"[\d.]+", by_label[label][1]))
        assert low < mean < high
        widths[label] = high - low
    assert 2 < widths["icc"] < widths["tmars"]
    assert "all 10 pairs of 5 filters at 200k, by CIDEr on coco" in " ".join(table.notes)


def test_only_a_filter_that_is_better_than_all_is_bold(runs: Folder) -> None:
    def bold() -> list[str]:
        tables = leaderboard(runs.results, runs.folders)
        table = next(table for table in tables if table.title.endswith("captioner on coco"))
        return [row[0].text for row in table.rows if row[1].bold]

    assert bold() == ["icc"]
    runs.add("vba", [0.29, 0.30, 0.34])
    assert bold() == []


def test_a_finding_agrees_only_where_it_is_significant(runs: Folder) -> None:
    (table,) = findings_tables(runs.results, runs.folders)
    agrees = {row[0]: row[4] for row in texts(table)}
    assert agrees["ICC is far above random"] == "yes (p < .001)"
    assert agrees["Random is above CLIP"].startswith("not shown (p ")
    assert agrees["T-MARS is above random"] == "yes (p .003)"


def test_runs_on_other_images_are_not_paired(runs: Folder) -> None:
    other = ImageScores()
    other.add("coco", "CIDEr", [f"other {n}" for n in range(IMAGES)], [0.3] * IMAGES)
    other.write(runs.path / runs.results[3].run_id / "captioner")
    found = compare_entries(CIDER, group(runs.results), runs.folders)
    icc = [entry.label for entry in found.entries].index("icc")
    assert found.comparison.estimates[icc].interval is None
    assert np.isnan(found.comparison.p_values[icc]).all()


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
    made.add("random", [3.0, 3.01, 3.02])
    made.add("icc", [1.0, 1.01, 1.02])
    made.add("clip", [2.0])
    made.add("tmars", [5.0, 5.01, 5.02])
    (board,) = leaderboards(made.results)
    (measure,) = headlines(board.entries)
    compared = compare_entries(measure, board.entries, made.folders)
    rows = texts(certainty_table("t", compared))
    assert [(row[0], row[1].partition(" ")[0], *row[3:]) for row in rows] == [
        ("icc", "1.0", "1", "better (p < .001)"),
        ("clip", "2.0", "2", "better (p < .001)"),
        ("random", "3.0", "3", "–"),
        ("tmars", "5.0", "4", "worse (p < .001)"),
    ]
    assert [row[0].text for row in summary_table(board, made.folders).rows] == [row[0] for row in rows]
    (table,) = [
        t for t in leaderboard(made.results, made.folders) if t.header == ["filter", "errors (words) ↓"]
    ]
    assert [row[0] for row in texts(table) if row[1].startswith("**1.0 (")] == ["icc"]


def test_zero_shot_is_counted_by_class(tmp_path: Path) -> None:
    labels = np.repeat(np.arange(20), 10)
    kept = ImageScores()
    kept.add("classes", "label", range(200), labels.tolist())
    kept.add(
        "classes", "zero_shot", range(200), (labels % 2).astype(float).tolist()
    )  # whole classes are right
    kept.add("classes", "weighted", range(200), (2.0 * (labels % 2)).tolist())
    kept.write(tmp_path)
    scores = read_image_scores(tmp_path)
    (by_class,) = parts_of_images("zero_shot", "classes", [scores])
    unlabelled = {key: of for key, of in scores.items() if key[1] != "label"}
    (by_image,) = parts_of_images("zero_shot", "classes", [unlabelled])
    assert by_class is not None
    assert by_image is not None
    assert (len(by_class), len(by_image)) == (20, 200)
    assert np.std(by_class) == pytest.approx(0.5)
    assert np.std(by_image) == pytest.approx(0.5)


def test_filters_of_one_selection_are_one_row() -> None:
    runs = [captioned("random", 0.1 + seed / 100, seed=seed) for seed in range(3)]
    runs = [replace(run, selection=replace(run.selection, sha256=str(run.seed))) for run in runs]
    same = captioned("no_filter", 0.1)
    same = replace(same, selection=replace(same.selection, sha256="0", tied=80_000))
    other = captioned("english", 0.1)
    captions = replace(same, filter="laion2b", run_id="l", config={"captions": {"files": ["mine"]}})
    (entry, *rest) = group([same, *runs, other, captions])
    assert (entry.label, entry.name) == ("random", "random, no_filter (draw of 100%)")
    assert [run.seed for run in entry.runs] == [0, 1, 2]
    assert len(entry.all_runs) == 4
    assert [e.label for e in rest] == ["english", "laion2b, other captions"]


def run(name: str, cider: float, *, seed: int = 0) -> Result:
    return result(name, seed=seed, downstream={"captioner": trained(coco=[metric("CIDEr", cider)])})


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
    entries = group([run("clip", value, seed=seed) for seed, value in enumerate(values)])
    compared = compare_entries(CIDER, entries, RunFolders({}))
    assert compared.cell(entries[0]).whole == text
    assert compared.noises == ["over seeds"] * (len(values) > 1)


def test_intervals_of_a_column_share_a_scale() -> None:
    entries = group([*(run("clip", 0.52 + seed / 100, seed=seed) for seed in range(3)), run("random", 0.13)])
    compared = compare_entries(CIDER, entries, RunFolders({}))
    # 4.3 standard errors: 13 - 4.3 to 13 + 4.3, and 53 - 2.5 to 53 + 2.5, of 8.7 to 55.5
    assert [compared.cell(entry).strip for entry in entries] == [(0.0, 9.2, 18.4), (89.4, 94.7, 100.0)]
