"""Figures of the papers' tables, as data."""

import pytest

from benchmark.results.report.published_figures import (
    ICC,
    Measure,
    PublishedRow,
    PublishedTable,
    paper_figure,
    published_tables,
)

CIDER = Measure("captioner", "coco", "CIDEr")
RECALL = Measure("dual_encoder", "flickr30k", "text_to_image_R@10")
SUBMISSION = "ICC, first submission"


def test_the_tables_are_there_with_all_their_cells() -> None:
    shapes = {(t.paper, t.number): (len(t.rows), len(t.measures)) for t in published_tables()}
    assert shapes == {
        ("DS-CLIP", "2b"): (3, 1), ("DS-CLIP", "2f"): (4, 1),
        (ICC, "1"): (18, 14), (ICC, "2"): (18, 6), (ICC, "5"): (3, 4),
        (SUBMISSION, "2"): (4, 6), (SUBMISSION, "5"): (3, 6), (SUBMISSION, "6"): (12, 12),
    }  # fmt: skip
    for table in published_tables():
        assert len({(row.filter, row.size) for row in table.rows}) == len(table.rows)
        assert all(float(figure) < 120 for row in table.rows for figure in row.figures.values())


@pytest.mark.parametrize(
    ("paper", "number", "filter_name", "size", "measure", "figure"),
    [
        (ICC, "1", "clip", 500_000, CIDER, 15.1),
        (ICC, "1", "icc", 200_000, Measure("captioner", "nocaps", "Polos"), 0.21),
        (ICC, "2", "icc", 500_000, RECALL, 72.9),
        (ICC, "5", "vba", 200_000, Measure("captioner", "nocaps", "SPICE"), 5.8),
        (SUBMISSION, "2", "icc", 500_000, CIDER, 42.5),
        (SUBMISSION, "6", "complexity_action", 1_000_000, Measure("captioner", "coco", "BERTScore"), -3.9),
        (SUBMISSION, "6", "icc", 1_000_000, RECALL, 67.5),
    ],
)
def test_figures_are_those_of_the_paper(
    paper: str, number: str, filter_name: str, size: int, measure: Measure, figure: float
) -> None:
    assert paper_figure(paper, number, filter_name, size, measure) == figure


def test_digits_are_kept_as_printed() -> None:
    table = next(table for table in published_tables() if table.paper == ICC)
    polos = [row.figures[Measure("captioner", "coco", "Polos")] for row in table.rows[2:4]]
    assert (polos, table.rows[0].figures[CIDER]) == (["0.20", "0.20"], "5")


def test_every_best_cell_of_the_icc_papers_is_iccs() -> None:
    for table in (table for table in published_tables() if table.paper in (ICC, SUBMISSION)):
        best = table.best()
        winners = {
            r.filter for r in table.rows for m, text in r.figures.items() if float(text) == best[r.size, m]
        }
        assert winners == {"icc"}


def test_the_best_of_a_size_can_be_tied_and_negative() -> None:
    rows = [
        PublishedRow("a", 100, {CIDER: "-0.5"}), PublishedRow("b", 100, {CIDER: "-0.50"}),
        PublishedRow("c", 100, {CIDER: "-3.9"}), PublishedRow("a", 200, {CIDER: "10"}),
    ]  # fmt: skip
    table = PublishedTable("p", "c", "1", "about", "", rows, [])
    assert table.best() == {(100, CIDER): -0.5, (200, CIDER): 10.0}


def test_a_figure_that_no_table_has_is_an_error() -> None:
    with pytest.raises(LookupError, match="Table 1 of ICC has no oracle at 200000"):
        paper_figure(ICC, "1", "oracle", 200_000, CIDER)
