"""The papers' figures as data, as tables, and as rows below runs of their setting."""

from dataclasses import replace

import pytest

from benchmark.results.report.frame import Measure
from benchmark.results.result import Result
from pairsift.studies import published_figures
from pairsift.studies.published_figures import (
    BEST,
    ICC,
    PublishedRow,
    PublishedTable,
    paper_figure,
    paper_tables,
    published_tables,
    study_tables,
)
from pairsift.studies.report import Studies
from tests.benchmark.results.report.made_results import (
    metric,
    metric_tables,
    protocol,
    result,
    texts,
    trained,
)

CIDER = Measure("captioner", "coco", "CIDEr")
RECALL = Measure("dual_encoder", "flickr30k", "text_to_image_R@10")
SUBMISSION = "ICC, first submission"
PARROT = "Parrot Captions"
ZERO_SHOT = Measure("dual_encoder", "imagenet", "zero_shot")


def test_every_table_has_its_cells() -> None:
    published = published_tables()
    assert (len(published), sum(len(table.rows) * len(table.measures) for table in published)) == (16, 708)
    for table in published:
        assert len({(row.filter, row.size) for row in table.rows}) == len(table.rows)
        assert all(float(figure) < 120 for row in table.rows for figure in row.figures.values())
    studies = study_tables().values()
    assert (len(studies), sum(len(table.rows) for table in studies)) == (11, 58)
    assert all(len(row) == len(table.header) for table in studies for row in table.rows)


@pytest.mark.parametrize(
    ("paper", "number", "filter_name", "size", "measure", "figure"),
    [
        (ICC, "1", "clip", 500_000, CIDER, 15.1),
        (ICC, "1", "icc", 200_000, Measure("captioner", "nocaps", "Polos"), 0.21),
        (ICC, "2", "icc", 500_000, RECALL, 72.9),
        (SUBMISSION, "6", "complexity_action", 1_000_000, Measure("captioner", "coco", "BERTScore"), -3.9),
        ("DS-CLIP", "2c", "cluster_uniform+rewrite+describe", 1_500_000, ZERO_SHOT, 22.5),
        ("DS-CLIP", "2e", "cluster_uniform:100000", 7_500_000, ZERO_SHOT, 34.7),
        (PARROT, "2", "no_text", 12_000_000, Measure("clip_rn50", "imagenet", "zero_shot"), 0.409),
        (PARROT, "5", "rsc>=0.1", 3_000_000, Measure("clip_vit_b", "datacomp", "average"), 0.116),
    ],
)
def test_figures_are_those_of_the_paper(
    paper: str, number: str, filter_name: str, size: int, measure: Measure, figure: float
) -> None:
    assert paper_figure(paper, number, filter_name, size, measure) == figure
    with pytest.raises(LookupError, match=f"Table {number} of {paper} has no none at {size}"):
        paper_figure(paper, number, "none", size, measure)


def test_the_best_of_a_size_can_be_tied_and_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        PublishedRow("a", 100, {CIDER: "-0.5"}), PublishedRow("b", 100, {CIDER: "-0.50"}),
        PublishedRow("c", 100, {CIDER: "-3.9"}), PublishedRow("a", 200, {CIDER: "10"}),
    ]  # fmt: skip
    table = PublishedTable("p", "c", "1", "about", "", rows, [])
    monkeypatch.setattr(published_figures, "published_tables", lambda: [table])
    (shown,) = paper_tables(["CIDEr"])
    assert [BEST in figure for *_, figure in texts(shown)] == [True, True, False, True]


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
    assert [table.header[2:] for table in paper_tables({"zero_shot"})] == [
        *[["ImageNet zero-shot"]] * 6,
        *[["RN50: ImageNet zero-shot", "ViT-B: ImageNet zero-shot"]] * 4,
    ]
    assert paper_tables({"linear_probe"}) == []


def run(name: str, published: str, size: int = 200_000) -> Result:
    models = {"captioner": trained(coco=[metric("CIDEr", 0.5), metric("PAC-S", 0.7)])}
    of = replace(protocol("laion", size=size), published=published)
    return result(name, size=size, downstream=models, protocol=of)


def test_runs_of_the_papers_setting_stand_above_its_rows() -> None:
    table = metric_tables([run("clip", "icc_paper"), run("random", "")], Studies())[0]
    rows = texts(table)
    assert rows[:2] == [["random", "50.0", "0.700"], ["clip", "50.0", "0.700"]]
    assert rows[2:] == [
        ["random (paper, Table 1)", "5", "–"],
        ["random minus paper, Table 1", "+45", "–"],
        ["clip (paper, Table 1)", "3.4", "–"],
        ["clip minus paper, Table 1", "+46.6", "–"],
        ["complexity_action (paper, Table 1)", "3.7", "–"],
        ["tmars (paper, Table 1)", "6.5", "–"],
        ["pacscore (paper, Table 1)", "7", "–"],
        ["icc (paper, Table 1)", "35.5", "–"],
        ["sba (paper, Table 5)", "17.8", "–"],
        ["vba (paper, Table 5)", "29.8", "–"],
        ["icc (paper, Table 5)", "30.9", "–"],
    ]
    assert [note for note in table.notes if "Yanuka" in note and "compete for no mark" in note]


def test_other_settings_and_sizes_have_no_rows_of_the_paper() -> None:
    assert len(metric_tables([run("clip", "")], Studies())[0].rows) == 1
    assert len(metric_tables([run("clip", "ds_clip")], Studies())[0].rows) == 1
    table = metric_tables([run("clip", "icc_paper", size=100_000)], Studies())[0]
    assert [row[0].text for row in table.rows][-1] == "icc (paper, Table 1)"  # Table 5 has only 200k
    table = metric_tables([run("clip", "icc_paper", size=300_000)], Studies())[0]
    assert len(table.rows) == 1
    assert not [note for note in table.notes if "compete" in note]
