"""The papers' tables in the report, and their rows beside runs of their setting."""

from dataclasses import replace

from benchmark.results.report.published_figures import BEST, paper_tables
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import (
    metric,
    metric_tables,
    protocol,
    result,
    texts,
    trained,
)


def test_best_cells_are_marked_with_a_sign_per_size() -> None:
    (table,) = [t for t in paper_tables() if t.title.startswith("Published: Table 2 of ICC: ")]
    assert table.header[:4] == ["filter", "size", "COCO T2I R@1", "COCO R@5"]
    rows = texts(table)
    assert rows[0][:4] == ["random", "100k", "5", "15.4"]
    assert [row[:3] for row in rows if BEST in row[2]] == [
        ["icc", "100k", f"**14.4 {BEST}**"], ["icc", "200k", f"**15.5 {BEST}**"], ["icc", "500k", f"**14.6 {BEST}**"],
    ]  # fmt: skip
    assert any("Single runs" in note for note in table.notes)
    assert any("a misprint is possible" in note for note in table.notes)


def test_chosen_metrics_are_the_columns_of_papers_too() -> None:
    tables = paper_tables({"SPICE"})
    assert [table.header[2:] for table in tables] == [["COCO S", "NoCaps S"]] * 2 + [["COCO S"]] * 3
    assert [table.header[2:] for table in paper_tables({"zero_shot"})] == [["ImageNet zero-shot"]] * 2
    assert paper_tables({"linear_probe"}) == []


def run(name: str, published: str, size: int = 200_000) -> Result:
    models = {"captioner": trained(coco=[metric("CIDEr", 0.5), metric("PAC-S", 0.7)])}
    of = replace(protocol("laion", size=size), published=published)
    return result(name, size=size, downstream=models, protocol=of)


def test_runs_of_the_papers_setting_stand_above_its_rows() -> None:
    table = metric_tables([run("clip", "icc_paper"), run("random", "")])[0]
    rows = texts(table)
    assert rows[:2] == [["random", "50.0", "0.700"], ["clip", "50.0", "0.700"]]
    assert [row[0] for row in rows[2:]] == [
        *(f"{name} (paper, Table 1)" for name in ("random", "clip", "complexity_action", "tmars", "pacscore", "icc")),
        *(f"{name} (paper, Table 5)" for name in ("sba", "vba", "icc")),
    ]  # fmt: skip
    assert [rows[3], rows[7], rows[-1]] == [
        ["clip (paper, Table 1)", "3.4", "–"],
        ["icc (paper, Table 1)", "35.5", "–"],
        ["icc (paper, Table 5)", "30.9", "–"],
    ]
    assert [note for note in table.notes if "Yanuka" in note and "compete for no mark" in note]


def test_other_settings_and_sizes_have_no_rows_of_the_paper() -> None:
    assert len(metric_tables([run("clip", "")])[0].rows) == 1
    assert len(metric_tables([run("clip", "ds_clip")])[0].rows) == 1
    table = metric_tables([run("clip", "icc_paper", size=100_000)])[0]
    assert [row[0].text for row in table.rows][-1] == "icc (paper, Table 1)"  # Table 5 has 200k alone
    table = metric_tables([run("clip", "icc_paper", size=300_000)])[0]
    assert (len(table.rows), table.notes) == (1, [])
