"""The cost of scoring in reports: one unit for a whole leaderboard, unknown where a result lacks it."""

from dataclasses import replace

from benchmark.results.report.entry_facts import scoring_costs
from benchmark.results.report.leaderboard import leaderboards
from benchmark.results.result import Result, Scoring
from tests.benchmark.results.report.made_results import metric_tables, texts
from tests.benchmark.results.report.test_leaderboard_tables import run


def scored(name: str, cpu_seconds: float | None, seed: int = 0) -> Result:
    return replace(run(name, seed=seed), scoring=Scoring(12.5, 0.0, cpu_seconds))


def test_processor_seconds_are_shown_where_results_have_them() -> None:
    entries = leaderboards([scored("clip", 40.0), scored("icc", 8.0)])[0].entries
    costs = scoring_costs(entries)
    assert (costs.unit, costs.seconds, costs.notes) == ("processor s", {"clip": 40.0, "icc": 8.0}, [])
    (cost,) = [table for table in metric_tables([scored("clip", 40.0)]) if table.title.endswith("cost")]
    assert cost.header[-2:] == ["scoring processor s", "pairs/processor s"]
    assert texts(cost)[0][-2:] == ["40.0", "2,000"]


def test_an_older_result_beside_newer_ones_is_of_unknown_cost() -> None:
    runs = [scored("clip", None), scored("icc", 8.0), scored("sba", None), scored("sba", 5.0, seed=1)]
    entries = leaderboards(runs)[0].entries
    costs = scoring_costs(entries)
    assert costs.seconds == {"clip": None, "icc": 8.0, "sba": 5.0}
    assert costs.notes[0].startswith("Cost of clip: unknown, as processor seconds were not recorded")
    (table,) = [table for table in metric_tables(runs) if table.title.endswith("cost")]
    assert texts(table)[0][-2:] == ["–", "–"]
    assert table.notes == costs.notes


def test_older_results_alone_keep_their_seconds_on_the_clock() -> None:
    costs = scoring_costs(leaderboards([scored("clip", None), scored("icc", None)])[0].entries)
    assert (costs.unit, costs.seconds, costs.notes) == ("worker s", {"clip": 12.5, "icc": 12.5}, [])


def test_on_a_gpu_processor_seconds_are_not_the_cost() -> None:
    made = scored("clip", 40.0)
    stages = {name: replace(stage, device="cuda") for name, stage in made.stages.items()}
    costs = scoring_costs(leaderboards([replace(made, stages=stages)])[0].entries)
    assert costs.unit == "worker s"
