import numpy as np
import pytest

from pairsift.studies.profile.statistics import FEWEST, NORMAL, fraction, mean


@pytest.mark.parametrize(
    ("hits", "count", "low", "high"),
    [
        # Worked out by hand with z = 1.959964: z^2 = 3.841459.
        (0, 10, 0.0, 0.277533),  # z^2 / (n + z^2)
        (10, 10, 0.722467, 1.0),
        (5, 10, 0.236593, 0.763407),
        (1, 1, 0.206549, 1.0),
        (546, 1000, 0.515024, 0.576624),  # 0.545824 -+ 0.030800
    ],
)
def test_wilsons_interval_equals_that_by_hand(hits: int, count: int, low: float, high: float) -> None:
    found = fraction(hits, count)
    assert (found.value, found.count, found.reason) == (hits / count, count, None)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-6)


def test_too_few_values_give_a_reason() -> None:
    for found in (fraction(0, 0), mean(np.empty(0, np.float32), 0)):
        assert (found.value, found.low, found.high, found.count) == (None, None, None, 0)
        assert found.reason == "no such image"
    few = mean(np.array([1, 2, 6], np.float32), 0)
    assert (few.value, few.low, few.high) == (3.0, None, None)
    assert few.reason == f"3 images; an interval needs {FEWEST}"


def test_the_bootstrap_equals_a_plain_loop() -> None:
    values = np.random.default_rng(5).exponential(size=40).astype(np.float32)
    rng = np.random.default_rng(9)
    drawn = [np.mean([values[i] for i in rng.integers(0, 40, 40)], dtype=np.float64) for _ in range(1000)]
    found = mean(values, seed=9)
    assert (found.low, found.high) == pytest.approx(np.percentile(drawn, [2.5, 97.5]), abs=2e-6)
    assert mean(values, seed=9) == found
    assert mean(values, seed=10) != found


def test_many_values_have_the_normal_interval() -> None:
    values = np.tile(np.array([0, 1], np.float32), NORMAL)
    found = mean(values, 0)
    assert found.value == 0.5
    half = 1.959964 * 0.5 / np.sqrt(2 * NORMAL - 1)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=2e-6)
