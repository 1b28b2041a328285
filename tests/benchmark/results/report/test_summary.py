from dataclasses import replace

import pytest

from benchmark.core.errors import UserError
from benchmark.results.report.certainty import RunFolders
from benchmark.results.report.summary import publish, summary_board, summary_table
from benchmark.results.report.table import Cell, Table
from tests.benchmark.results.report.made_results import captioned, protocol, texts


def test_filters_are_rows_and_the_best_comes_first() -> None:
    table = summary_table(summary_board([captioned("random", 0.2), captioned("clip", 0.3)]), RunFolders({}))
    assert [row[:2] for row in texts(table)] == [["clip", "30.0*"], ["random", "20.0*"]]
    assert table.header[:2] == ["filter", "CIDEr, coco"]


def test_three_seeds_have_an_interval_and_may_be_bold() -> None:
    runs = [replace(captioned("clip", 0.3 + seed / 100), seed=seed) for seed in range(3)]
    table = summary_table(summary_board([captioned("random", 0.2), *runs]), RunFolders({}))
    assert [row[1] for row in texts(table)] == ["31.0 (28.5 to 33.5)", "20.0*"]


def test_clean_pairs_are_a_percentage_of_the_kept_pairs() -> None:
    made = replace(captioned("clip", 0.3), kept={"concrete": 15, "person": 4, "abstract": 1})
    table = summary_table(summary_board([made, captioned("random", 0.2)]), RunFolders({}))
    assert table.header[2:] == ["clean pairs kept", "scoring, worker s"]
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
    runs = [replace(captioned("clip", 0.3), seed=seed) for seed in range(3)]
    elsewhere = [replace(captioned("icc", 0.3), protocol=protocol("web"), seed=seed) for seed in range(4)]
    table = summary_table(summary_board([*smaller, *runs, *elsewhere]), RunFolders({}))
    assert [row[0].text for row in table.rows] == ["clip"]
    assert table.notes[0] == f"Protocol: demo 200k ({protocol().fingerprint}), 3 runs."


def test_no_results_to_publish_are_refused() -> None:
    with pytest.raises(UserError, match="need results; results_dir has none"):
        summary_board([])
