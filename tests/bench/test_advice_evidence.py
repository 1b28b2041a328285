"""The tables that judge advice, from made runs whose order at each budget is known."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.advice_evidence import FITTED, HELD_OUT, Choice, HeldOut, evidence, hold_out
from benchmark.cli.jobs import job_overrides, planned_sweeps
from benchmark.core.records import write_record
from benchmark.results.report.advice import find_measure
from benchmark.results.report.table import Table
from tests.benchmark.results.report.made_families import Means, family

SIZES = 50_000, 200_000, 800_000
NAMES = "random", "clip", "icc"
RISING: Means = {
    name: {size: 0.1 + 0.2 * row + 0.05 * column for column, size in enumerate(SIZES)}
    for row, name in enumerate(NAMES)
}
FALLING: Means = {name: {size: 0.9 - mean for size, mean in of.items()} for name, of in RISING.items()}
BUDGETS = FITTED + HELD_OUT


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> HeldOut:
    return held_out(tmp_path_factory.mktemp("steady"), dict.fromkeys(BUDGETS, RISING))


def held_out(folder: Path, means: Mapping[int, Means]) -> HeldOut:
    made = family(folder, means, seeds=2)
    return hold_out(made.results, made.folders, find_measure(made.results, "CIDEr"), HELD_OUT[0])


def texts(table: Table) -> list[list[str]]:
    return [[cell.whole for cell in row] for row in table.rows]


def regret(of: HeldOut, choice: Choice) -> tuple[float, ...]:
    drawn = of.regret(choice)
    assert drawn is not None
    return drawn[0], drawn[1:].min(), drawn.max()


def test_advice_has_no_regret_if_the_order_stays(steady: HeldOut) -> None:
    assert steady.choice == steady.best == ("icc", 800_000)
    assert regret(steady, steady.choice) == (0, 0, 0)
    assert all((steady.same_order(fitted) == 1).all() for fitted in steady.fitted)


def test_advice_has_regret_if_the_order_reverses(tmp_path: Path) -> None:
    of = held_out(tmp_path, dict.fromkeys(FITTED, RISING) | dict.fromkeys(HELD_OUT, FALLING))
    assert (of.choice, of.best) == (("icc", 800_000), ("random", 50_000))
    found, low, high = regret(of, of.choice)
    assert found == pytest.approx(50)
    assert 45 < low < found < high < 55
    assert (of.same_order(of.fitted[-1]) == 0).all()


def test_a_size_that_was_not_run_has_a_value_between_its_neighbours(steady: HeldOut) -> None:
    regrets = [regret(steady, ("icc", size))[0] for size in (50_000, 100_000, 200_000, 8_000_000)]
    assert regrets == pytest.approx([10, 7.5, 5, 0])
    assert steady.regret(("vba", 50_000)) is None


def test_the_tables_have_every_rule(tmp_path: Path) -> None:
    at_30: Means = {**FALLING, "clip": {**FALLING["clip"], 2_400_000: 0.3}}
    small: Means = {name: {size: RISING[name][size] for size in SIZES[:2]} for name in NAMES}
    of_budgets = dict.fromkeys(FITTED, small) | dict(zip(HELD_OUT, (FALLING, at_30), strict=True))
    for run in family(tmp_path, of_budgets, seeds=2).results:
        write_record(tmp_path, run)
    rules, found, order = evidence(tmp_path, "clip", ["CIDEr"])
    shown = [[*row[1:3], row[3].partition(" ")[0]] for row in texts(rules)]
    assert shown == [
        ["advice, best measured size", "icc at 200k", "45.0"],
        ["advice, equal epochs", "icc at 800k", "50.0"],
        ["the leaderboard's best filter at its size", "clip at 200k", "25.0"],
        ["the best mean at 500k", "icc at 200k", "45.0"],
        ["CLIP at 30%", "not run", "–"],
        ["advice, best measured size", "icc at 200k", "45.0"],
        ["advice, equal epochs", "icc at 1600k (interpolated)", "50.0"],
        ["the leaderboard's best filter at its size", "clip at 200k", "25.0"],
        ["the best mean at 500k", "icc at 200k", "45.0"],
        ["CLIP at 30%", "clip at 2400k", "50.0"],
    ]
    assert texts(found)[0] == ["CIDEr at 2m", "icc at 200k", "100%", "100%", "0.0", "random at 50k"]
    assert found.notes == ["P(best) said 100%, of the filter 100%; found: 0% and 0%."]
    assert texts(order) == [[f"CIDEr at {of}", *["0.0 (0.0 to 0.0)"] * 2] for of in ("2m", "4m")]


def test_the_experiment_has_the_runs_that_are_read() -> None:
    sweeps = planned_sweeps(["experiment=advice_evidence"])
    jobs = [dict(o.split("=", 1) for o in job) for _, *sweep in sweeps for job in job_overrides(sweep)]
    assert {int(job["budget"]) for job in jobs} == set(BUDGETS)
    assert len(jobs) == 148
