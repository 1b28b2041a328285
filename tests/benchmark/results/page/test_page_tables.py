from dataclasses import replace

from benchmark.results.page.leaderboard_page import leaderboard_views
from benchmark.results.page.page_tables import (
    PageCell,
    PageTable,
    Value,
    all_measures,
    chart_measures,
    seconds_text,
    value_of,
)
from benchmark.results.report.certainty import RunFolders, compare_entries
from benchmark.results.report.leaderboard import group, headlines
from benchmark.results.result import Result, Scoring
from tests.benchmark.results.report.made_results import captioned, metric, result, trained
from tests.benchmark.results.report.made_run_folders import full_result, measured


def tables_of(*runs: Result) -> list[PageTable]:
    (view,) = leaderboard_views(runs, RunFolders({}))
    return view.tables


def test_the_best_by_the_first_headline_comes_first() -> None:
    table = tables_of(
        *(full_result(name, q) for name, q in (("random", 0.1), ("icc", 0.5), ("oracle", 0.6)))
    )[0]
    assert table.header == [
        "filter", "CIDEr, coco", "above random", "text-to-image R@1 (%), coco", "above random",
        "descriptions among the kept", "scoring", "seeds",
    ]  # fmt: skip
    assert [row.label for row in table.rows] == ["oracle", "icc", "random"]
    assert [row.role for row in table.rows] == ["(reference: best planted grade)", "", "baseline"]
    assert [cell.text for cell in table.rows[1].cells] == [
        "50.0", "(+40.0)", "25.0", "(+20.0)", "75%", "55 s", "1",
    ]  # fmt: skip


def test_intervals_of_a_column_share_a_scale() -> None:
    seeds = [full_result("clip", 0.52 + seed / 100, seed=seed) for seed in range(3)]
    low, high = tables_of(*seeds, full_result("random", 0.13))[0].rows[::-1]
    # 4.3 standard errors: 13 - 4.3 to 13 + 4.3, and 53 - 2.5 to 53 + 2.5, of 8.7 to 55.5
    assert low.cells[0].range == (0.0, 9.2, 18.4)
    assert high.cells[0].range == (89.4, 94.7, 100.0)


def test_every_set_of_metrics_has_its_table() -> None:
    names = [table.name for table in tables_of(full_result("clip", 0.5))]
    assert names == [
        "headline metrics", "captioner on coco", "captioner on coco, best reference and diversity",
        "dual encoder on coco", "selection and cost",
    ]  # fmt: skip


def test_what_a_run_lacks_is_a_dash_that_sorts_last() -> None:
    lacking = result("icc", downstream={"captioner": trained(coco=[metric("CIDEr", None, "no Java")])})
    rows = tables_of(lacking, full_result("clip", 0.5))[0].rows
    assert rows[1].label == "icc"
    assert rows[1].cells[0] == PageCell("–")


def test_a_missing_metric_has_its_reason() -> None:
    metrics = [metric("CIDEr", 0.5), metric("SPICE", None, "no Java")]
    tables = tables_of(result("clip", downstream={"captioner": trained(coco=metrics)}))
    (table,) = [table for table in tables if table.name == "captioner on coco"]
    assert table.notes[-1] == "SPICE is missing: no Java"


def test_runs_without_metrics_have_costs() -> None:
    headline, costs = tables_of(result("clip", scoring=Scoring(0.0, 0.0)))
    assert [cell.text for cell in headline.rows[0].cells] == ["–", "1"]
    assert [cell.text for cell in costs.rows[0].cells] == ["2,000", "2,000", "0.25", "–", "–", "–", "–"]
    *_, costs = tables_of(full_result("clip", 0.5))
    assert [cell.text for cell in costs.rows[0].cells][3:6] == ["55 s", "1,455", "4 s"]


def test_the_memory_of_a_run_is_among_its_costs() -> None:
    gib = 2**30
    *_, costs = tables_of(
        replace(full_result("clip", 0.5), peak_rss_bytes=2 * gib, workers_peak_rss_bytes=3 * gib),
        replace(full_result("icc", 0.4), peak_rss_bytes=gib // 2, workers_peak_rss_bytes=0),
    )
    assert costs.header[-1] == "peak memory"
    assert [row.cells[-1] for row in costs.rows] == [
        PageCell("2 GiB", 3.0, "workers 3 GiB"), PageCell("0.5 GiB", 0.5),
    ]  # fmt: skip


def test_short_times_keep_two_digits() -> None:
    assert [seconds_text(s) for s in (0.137, 9.96, 12.4, 12345)] == ["0.14 s", "10 s", "12 s", "12,345 s"]


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


def test_two_seeds_have_a_wide_interval() -> None:
    found = value([run("clip", 0.1), run("clip", 0.3, seed=1)])
    assert found is not None
    assert found.note == "0.0 to 147.1 over seeds"  # 12.706 standard errors of 10


def test_one_seed_without_scores_of_images_is_only_a_number() -> None:
    assert value([captioned("clip", 0.2)]) == Value(20.0, None, None, "20.0", "")


def test_charts_offer_the_sets_that_headlines_are_of() -> None:
    metrics = [metric("CIDEr", 0.2), metric("BLEU-4", 0.1), metric("SPICE", None, "no Java")]
    entries = group(
        [result("clip", downstream={"captioner": trained(nocaps=[metric("CIDEr", 0.1)], coco=metrics)})]
    )
    assert list(chart_measures(entries)) == ["CIDEr, coco (captioner)", "BLEU-4, coco (captioner)"]
    assert len(all_measures(entries)) == 3
