from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.leaderboard import leaderboards
from benchmark.results.report.leaderboard_tables import size_table, summary_board, summary_table
from benchmark.results.report.table import Cell, Table, publish
from benchmark.results.result import Result
from downstream.evaluation.image_scores import ImageScores
from tests.benchmark.results.report.made_results import captioned, protocol, texts


def summary_of(results: list[Result]) -> Table:
    return summary_table(summary_board(leaderboards(results)), RunFolders({}))


def test_filters_are_rows_and_the_best_comes_first() -> None:
    table = summary_of([captioned("random", 0.2), captioned("clip", 0.3)])
    assert [row[:2] for row in texts(table)] == [["clip", "30.0"], ["random", "20.0"]]
    assert any(note.startswith("Training noise unknown") for note in table.notes)
    assert table.header[:2] == ["filter", "CIDEr, coco"]


def test_three_seeds_of_one_filter_give_all_an_interval() -> None:
    runs = [captioned("clip", 0.3 + seed / 100, seed=seed) for seed in range(3)]
    table = summary_of([captioned("random", 0.2), *runs])
    assert [row[1] for row in texts(table)] == ["31.0 (28.5 to 33.5)", "20.0 (15.7 to 24.3)"]
    assert table.header[1] == "CIDEr (over seeds), coco"


def of_sizes(folder: Path, shared: float) -> tuple[list[Result], RunFolders]:
    """Runs of a filter at three sizes, two of them alike, with two seeds at each."""
    runs, rng = [], np.random.default_rng(0)
    for size, mean in {100_000: 0.2, 200_000: 0.29, 500_000: 0.3}.items():
        for seed in range(2):
            values = mean + rng.normal(0, 0.05, 200) + rng.normal(0, shared)
            runs.append(captioned("clip", float(values.mean()), size=size, seed=seed))
            scores = ImageScores()
            scores.add("coco", "CIDEr", range(200), values.tolist())
            scores.write(folder / runs[-1].run_id / "captioner")
    return runs, RunFolders({run.run_id: folder / run.run_id for run in runs})


def test_best_sizes_are_not_shown_to_be_worse(tmp_path: Path) -> None:
    runs, folders = of_sizes(tmp_path, 0.004)
    runs.append(captioned("icc", 0.2))
    boards = leaderboards(runs)
    table = summary_table(boards[1], folders, boards)
    column = table.header.index("best sizes")
    assert {row[0]: row[column] for row in texts(table)} == {"clip": "200k, 500k", "icc": "–"}
    sizes = size_table(boards[1], boards, folders)
    assert sizes.header == ["filter", "CIDEr, 100k", "CIDEr, 200k", "CIDEr, 500k"]
    assert [row[0] for row in texts(sizes)] == ["clip"]
    assert "best sizes" not in summary_table(boards[1], folders).header


def test_with_one_seed_the_best_size_is_unknown() -> None:
    boards = leaderboards([captioned("clip", mean, size=n) for n, mean in ((100_000, 0.1), (200_000, 0.9))])
    table = summary_table(boards[0], RunFolders({}), boards)
    assert [row[table.header.index("best sizes")] for row in texts(table)] == ["unknown"]


def test_descriptions_are_a_percentage_of_the_kept_pairs() -> None:
    made = replace(captioned("clip", 0.3), kept={"concrete": 15, "person": 4, "abstract": 1})
    table = summary_of([made, captioned("random", 0.2)])
    assert table.header[2:] == ["descriptions among the kept", "scoring, worker s"]
    assert [row[2:] for row in texts(table)] == [["75%", "12"], ["–", "12"]]


def test_only_the_lines_between_the_markers_change() -> None:
    table = Table("", ["filter", "C"], [[Cell("clip"), Cell("1.0", bold=True)]], ["Of one protocol."])
    around = "before\n<!-- leaderboard -->\n{}\n<!-- /leaderboard -->\nafter\n"
    published = publish(around.format("old"), {"findings": table, "leaderboard": table}, "README.md")
    assert published == around.format(
        "| filter | C |\n| --- | ---: |\n| clip | **1.0** |\n\nOf one protocol."
    )


def test_a_marker_may_ask_for_the_first_rows() -> None:
    table = Table(
        "", ["filter", "C"], [[Cell("clip"), Cell("1.0")], [Cell("random"), Cell("0.5")]], ["Note."]
    )
    around = "<!-- leaderboard: 1 rows -->\n{}\n<!-- /leaderboard -->\n"
    assert publish(around.format("old"), {"leaderboard": table}, "README.md") == around.format(
        "| filter | C |\n| --- | ---: |\n| clip | 1.0 |\n\nThe first 1 of 2 rows.\nNote."
    )


def test_a_file_without_markers_is_refused() -> None:
    with pytest.raises(UserError, match=r"README\.md must have the lines <!-- leaderboard -->"):
        publish("nothing here", {"leaderboard": Table("", ["filter"], [])}, "README.md")


def test_the_size_with_the_most_runs_is_published_and_named() -> None:
    smaller = [captioned(name, 0.3, size=100_000) for name in ("clip", "icc")]
    runs = [captioned("clip", 0.3, seed=seed) for seed in range(3)]
    elsewhere = [replace(captioned("icc", 0.3), protocol=protocol("web"), seed=seed) for seed in range(4)]
    table = summary_of([*smaller, *runs, *elsewhere])
    assert [row[0].text for row in table.rows] == ["clip"]
    assert f"Protocol: demo 200k ({protocol().fingerprint}), 3 runs." in table.notes


def test_no_results_to_publish_are_refused() -> None:
    with pytest.raises(UserError, match="needs results; results_dir has none"):
        summary_board([])
