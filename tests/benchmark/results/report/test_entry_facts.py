"""Facts of a row that `golden.md` does not show: costs on the clock, clean selections."""

from dataclasses import replace

import pytest

from benchmark.results.report.entry_facts import contamination_notes, scoring_costs, seconds_text
from benchmark.results.report.leaderboard import group
from benchmark.results.result import Contamination, Result, Scoring
from tests.benchmark.results.report.made_results import captioned, result


def scored(name: str, cpu_seconds: float | None, seed: int = 0) -> Result:
    return captioned(name, 0.5, seed=seed, scoring=Scoring(12.5, 0.0, cpu_seconds))


def test_an_older_result_next_to_newer_ones_is_of_unknown_cost() -> None:
    runs = [scored("clip", None), scored("icc", 8.0), scored("sba", None), scored("sba", 5.0, seed=1)]
    costs = scoring_costs(group(runs))
    assert (costs.unit, costs.seconds) == ("processor s", {"clip": None, "icc": 8.0, "sba": 5.0})
    (note,) = costs.notes
    assert note.startswith("Cost of clip: unknown, as it ran on a GPU")
    _, note = scoring_costs(group([*runs, replace(scored("vba", 9.0), machine="fast")])).notes
    assert "2 kinds of processor: fast for vba; " in note
    assert scoring_costs(group(runs[1:])).notes == []


@pytest.mark.parametrize(("cpu_seconds", "device"), [(None, "cpu"), (40.0, "cuda")])
def test_without_processor_seconds_the_clock_counts(cpu_seconds: float | None, device: str) -> None:
    runs = [scored("clip", cpu_seconds), scored("icc", cpu_seconds)]
    runs = [replace(r, stages={n: replace(s, device=device) for n, s in r.stages.items()}) for r in runs]
    costs = scoring_costs(group(runs))
    assert (costs.unit, costs.seconds, costs.notes) == ("worker s", {"clip": 12.5, "icc": 12.5}, [])


def test_seconds_have_two_digits_below_ten() -> None:
    assert [seconds_text(s) for s in (0.137, 9.96, 12.4, 12345)] == ["0.14 s", "10 s", "12 s", "12,345 s"]


def test_evaluation_images_among_the_kept_pairs_are_named() -> None:
    def notes(**found: Contamination) -> list[str]:
        return contamination_notes(group([result("clip", contamination=found)]))

    assert notes(coco=Contamination(9, 2), nocaps=Contamination(1, 0, 4, 3), flickr=Contamination(8, 0)) == [
        "Evaluation images: clip keeps 2 pairs with the bytes of an image of coco.",
        "Evaluation images: clip keeps 0 pairs with the bytes of an image of nocaps, and 3 near one.",
    ]
    none = "Evaluation images: no kept pair has one (by bytes"
    assert notes(coco=Contamination(9, 0)) == [f"{none}; near-duplicates were not looked for)."]
    assert notes(coco=Contamination(9, 0, 3, 0)) == [f"{none} and by CLIP embeddings)."]
    assert notes() == []
