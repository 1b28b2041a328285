import pytest

from benchmark.results.page.estimates import Value, all_measures, chart_measures, value_of
from benchmark.results.report.certainty import RunFolders, compare_entries
from benchmark.results.report.leaderboard import group, headlines
from benchmark.results.result import Result
from tests.benchmark.results.report.made_results import captioned, metric, result, trained
from tests.benchmark.results.report.made_run_folders import measured


def run(name: str, cider: float, half: float = 0.03, *, seed: int = 0) -> Result:
    return result(name, seed=seed, downstream={"captioner": trained(coco=[measured("CIDEr", cider, half)])})


def value(runs: list[Result]) -> Value | None:
    entries = group(runs)
    return value_of(entries[0], compare_entries(headlines(entries)[0], entries, RunFolders({})))


def test_three_seeds_have_the_interval_of_their_mean() -> None:
    found = value([run("clip", value, seed=seed) for seed, value in enumerate((0.2, 0.3, 0.4))])
    assert found is not None
    assert (found.text, found.note) == (
        "30.0",
        "5.2 to 54.8 over seeds",
    )  # 4.303 standard errors of 10 / sqrt(3)
    found = value([run("clip", value, seed=seed) for seed, value in enumerate((0.1, 0.2, 0.3))])
    assert found is not None
    assert found.note == "0.0 to 44.8 over seeds"  # CIDEr is not below 0


@pytest.mark.parametrize("runs", [[run("clip", 0.1), run("clip", 0.3, seed=1)], [captioned("clip", 0.2)]])
def test_two_seeds_without_scores_of_images_are_a_number_alone(runs: list[Result]) -> None:
    assert value(runs) == Value(20.0, None, None, "20.0", "")


def test_charts_offer_the_sets_that_headlines_are_of() -> None:
    metrics = [metric("CIDEr", 0.2), metric("BLEU-4", 0.1), metric("SPICE", None, "no Java")]
    entries = group(
        [result("clip", downstream={"captioner": trained(nocaps=[metric("CIDEr", 0.1)], coco=metrics)})]
    )
    assert list(chart_measures(entries)) == ["CIDEr, coco (captioner)", "BLEU-4, coco (captioner)"]
    assert len(all_measures(entries)) == 3
