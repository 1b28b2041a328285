"""Facts of a row: the cost of scoring, lost pairs, evaluation images among the kept pairs."""

from dataclasses import replace

import pytest

from benchmark.pool.pairs import Written
from benchmark.results.report.data_card import CaptionStatistics, Lengths, data_card
from benchmark.results.report.entry_facts import contamination_notes, scoring_costs
from benchmark.results.report.leaderboard import group, leaderboards
from benchmark.results.report.run_tables import run_table
from benchmark.results.result import Contamination, Result, Scoring
from tests.benchmark.results.report.made_results import metric_tables, result, texts
from tests.benchmark.results.report.test_leaderboard_tables import run


def scored(name: str, cpu_seconds: float | None, seed: int = 0) -> Result:
    return replace(run(name, seed=seed), scoring=Scoring(12.5, 0.0, cpu_seconds))


def test_processor_seconds_are_shown_where_results_have_them() -> None:
    entries = leaderboards([scored("clip", 40.0), scored("icc", 8.0)])[0].entries
    costs = scoring_costs(entries)
    assert (costs.unit, costs.seconds, costs.notes) == ("processor s", {"clip": 40.0, "icc": 8.0}, [])
    (cost,) = [table for table in metric_tables([scored("clip", 40.0)]) if table.title.endswith("cost")]
    assert cost.header[-4:-2] == ["scoring processor s", "pairs/processor s"]
    assert texts(cost)[0][-4:-2] == ["40.0", "2,000"]


def test_costs_of_different_machines_are_named() -> None:
    runs = [scored("clip", 40.0), scored("icc", 8.0), replace(scored("sba", 9.0), machine="two fast cores")]
    (note,) = scoring_costs(leaderboards(runs)[0].entries).notes
    assert note.endswith(" for the others. Compare costs within one kind.")
    assert "two fast cores for sba; " in note


def test_an_older_result_beside_newer_ones_is_of_unknown_cost() -> None:
    runs = [scored("clip", None), scored("icc", 8.0), scored("sba", None), scored("sba", 5.0, seed=1)]
    entries = leaderboards(runs)[0].entries
    costs = scoring_costs(entries)
    assert costs.seconds == {"clip": None, "icc": 8.0, "sba": 5.0}
    assert costs.notes[0].startswith("Cost of clip: unknown, as processor seconds were not recorded")
    (table,) = [table for table in metric_tables(runs) if table.title.endswith("cost")]
    assert texts(table)[0][-4:-2] == ["–", "–"]
    assert table.notes == costs.notes


def bounded(**config: object) -> Result:
    made = scored("clip", 40.0)
    drops = {"no_score": 1_000, "below filter.minimum=0.3": 29_000}
    settings = {"_target_": "clip", **config}
    selection = replace(made.selection, config=settings, scored=50_000, drops=drops, sha256=str(config))
    return replace(made, selection=selection)


def test_pairs_outside_of_bounds_were_read_too() -> None:
    assert bounded(minimum=0.3).pairs_read == 80_000 == scored("clip", 40.0).pairs_read


def test_rows_that_differ_in_bounds_say_so() -> None:
    labels = [
        entry.label for entry in group([bounded(), bounded(minimum=0.3), bounded(minimum=0.3, rank=False)])
    ]
    assert labels == [
        "clip (minimum=0.3, rank=False)", "clip (minimum=0.3, rank=True)", "clip (rank=True)"
    ]  # fmt: skip


def test_settings_without_other_captions_set_no_run_apart() -> None:
    older, newer = scored("clip", 40.0), scored("clip", 40.0, seed=1)
    unused = {"columns": [], "files": [], "use": "sum", "weights": None}
    (entry,) = group([older, replace(newer, config=newer.config | {"captions": unused})])
    assert (entry.label, len(entry.runs)) == ("clip", 2)


@pytest.mark.parametrize(("cpu_seconds", "device"), [(None, "cpu"), (40.0, "cuda")])
def test_without_processor_seconds_the_clock_counts(cpu_seconds: float | None, device: str) -> None:
    runs = [scored("clip", cpu_seconds), scored("icc", cpu_seconds)]
    runs = [replace(r, stages={n: replace(s, device=device) for n, s in r.stages.items()}) for r in runs]
    costs = scoring_costs(leaderboards(runs)[0].entries)
    assert (costs.unit, costs.seconds, costs.notes) == ("worker s", {"clip": 12.5, "icc": 12.5}, [])


WHOLE = result("random")


def lossy(**lost: int) -> Result:
    return replace(result("icc"), selection=replace(result("icc").selection, lost=lost))


def test_every_report_says_which_pairs_were_passed_over() -> None:
    note = "passed over chosen pairs that cannot be read: 7 image_missing, 3 image_unreadable"
    short = lossy(image_missing=7, image_unreadable=3)
    assert run_table(short, []).notes == [f"icc {note}"]
    (cost,) = [table for table in metric_tables([short, WHOLE]) if table.title.endswith("cost")]
    assert cost.notes[1:] == [f"icc (seed 0) {note}."]
    assert run_table(WHOLE, []).notes == []


def test_the_card_says_which_pairs_were_passed_over() -> None:
    def card(result: Result) -> str:
        captions = CaptionStatistics({"words": Lengths.of([1])}, [], {}, 0)
        return data_card(result.selection, Written(2_000, 0), [], captions, [result])

    short = card(lossy(image_missing=7, image_unreadable=1))
    assert "- passed over, as their images cannot be read: 7 `image_missing`, 1 `image_unreadable`\n" in short
    assert "`demo-icc-200000-0`, passed over chosen pairs that cannot be read: 7 image_missing" in short
    assert "passed over" not in card(WHOLE)


def test_the_card_counts_ties_only_if_some_were_left_out() -> None:
    def card(tied: int) -> str:
        captions = CaptionStatistics({"words": Lengths.of([1])}, [], {}, 0)
        return data_card(
            replace(WHOLE.selection, tied=tied, tied_kept=1), Written(2_000, 0), [], captions, []
        )

    assert "; 1 of the 5 pairs with that score is kept, as a hash of seed and uid decides\n" in card(5)
    assert "with that score" not in card(1)


def notes(**found: Contamination) -> list[str]:
    return contamination_notes(group([result("clip", contamination=found)]))


def test_kept_evaluation_images_are_named_with_the_filter() -> None:
    assert notes(coco=Contamination(9, 2), nocaps=Contamination(1, 0, 4, 3), flickr=Contamination(8, 0)) == [
        "Evaluation images: clip keeps 2 pairs with the bytes of an image of coco.",
        "Evaluation images: clip keeps 0 pairs with the bytes of an image of nocaps, and 3 near one.",
    ]


def test_no_kept_evaluation_image_is_said_too() -> None:
    assert notes(coco=Contamination(9, 0)) == [
        "Evaluation images: no kept pair has one (by bytes; near-duplicates were not looked for)."
    ]
    (checked,) = notes(coco=Contamination(9, 0, 3, 0))
    assert checked.endswith("(by bytes and by CLIP embeddings).")
    assert notes() == []
