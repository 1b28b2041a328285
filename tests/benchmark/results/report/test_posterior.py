"""P(best) in simulated worlds; `tests/full/test_advice_calibration.py` has its calibration."""

import numpy as np
import pytest

from benchmark.results.report.advice import CLEAR, OPEN
from benchmark.results.report.posterior import posterior
from benchmark.results.report.significance import compare
from tests.benchmark.results.report.simulated_tables import CIDER, Floats, simulate
from tests.benchmark.results.report.simulated_worlds import answer

WORLDS = 500
OF_SOME = [pytest.param(equal, CLEAR, marks=pytest.mark.slow) for equal in (2, 3)]


@pytest.mark.parametrize(("equal", "bound"), [*OF_SOME, (None, OPEN)])
def test_equal_filters_cannot_be_told_apart(equal: int | None, bound: float) -> None:
    rng = np.random.default_rng(2026)

    def values() -> Floats:
        values = 18 - np.abs(rng.normal(0, 4, rng.integers(6, 16)))  # below the best by two standard errors
        values[:equal] = 20
        return values

    worlds = [answer(rng, values(), 2, CIDER) for _ in range(WORLDS // (5 if equal else 8))]
    assert np.mean([world.found.best[world.choice] >= bound for world in worlds]) <= 0.2


def test_a_further_run_saves_most_where_the_best_is_open() -> None:
    rng = np.random.default_rng(0)
    table = simulate(rng, [20.0, 20.2, 12.0, 5.0], [2] * 4)
    saved = posterior(table, range(4), [*"abcd"]).run_values
    assert {*np.argsort(-saved)[:2].tolist()} == {0, 1}
    assert (saved >= -1e-9).all()
    assert saved[3] < 0.1 * saved[0]


def test_lower_may_be_better_and_equal_means_are_no_error() -> None:
    images = np.random.default_rng(0).normal(0, 1, (3, 2, 50)) / 10
    means = [[3.0, 3.1], [1.0, 1.1], [2.0, 2.1]]
    assert posterior(compare(means, list(images), higher_is_better=False), range(3), [*"abc"]).best[1] > 0.9
    same = compare([[1.0, 1.0]] * 3, [np.ones((2, 50))] * 3)
    assert posterior(same, range(3), [*"abc"]).best.sum() == 1
