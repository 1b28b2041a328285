"""A run that trained on fewer pairs than were selected says so wherever it is shown."""

from dataclasses import replace

from benchmark.pool.pairs import Written
from benchmark.results.page.page_tables import board_tables
from benchmark.results.report.data_card import CaptionStatistics, Lengths, data_card
from benchmark.results.report.leaderboard import group
from benchmark.results.report.run_tables import run_table
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import metric_tables, result

WHOLE = result("random")


def run(**lost: int) -> Result:
    return replace(result("icc"), selection=replace(result("icc").selection, lost=lost))


def test_every_report_says_how_many_pairs_were_trained_on() -> None:
    note = "trained on 1,990 of 2,000 selected pairs: 7 image_missing, 3 image_unreadable"
    short = run(image_missing=7, image_unreadable=3)
    assert run_table(short, []).notes == [f"icc {note}"]
    (cost,) = [table for table in metric_tables([short, WHOLE]) if table.title.endswith("cost")]
    assert cost.notes == [f"icc (seed 0) {note}."]
    *_, costs = board_tables(group([short, WHOLE]), [])
    assert costs.notes == cost.notes
    assert run_table(WHOLE, []).notes == board_tables(group([WHOLE]), [])[-1].notes == []


def test_the_card_says_what_is_missing() -> None:
    def card(pairs: int, *results: Result) -> str:
        captions = CaptionStatistics({"words": Lengths.of([1])}, [], {}, 0)
        return data_card(WHOLE.selection, Written(pairs, 0), [], captions, results)

    short = card(1_999, run(image_missing=7))
    assert "- in `subset.parquet`: 1,999 of these 2,000; the others are not in the pool's metadata\n" in short
    assert "`demo-icc-200000-0`, trained on 1,993 of 2,000 selected pairs: 7 image_missing\n" in short
    whole = card(2_000, WHOLE)
    assert "of these" not in whole
    assert "trained on 1" not in whole
