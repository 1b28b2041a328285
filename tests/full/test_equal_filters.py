"""The table of docs/report.md: how often equal filters are told apart, and better ones found. Twenty minutes."""

import numpy as np
import pytest

from tests.benchmark.results.report.simulated_tables import (
    CIDER,
    RECALL,
    ZERO_SHOT,
    any_better,
    best,
    simulate,
)

pytestmark = pytest.mark.full
TABLES = 500
METRICS = {"CIDEr": CIDER, "R@1": RECALL, "zero-shot": ZERO_SHOT}
SEEDS = {
    "9 filters, 3 seeds": [3] * 9,
    "9 filters, 2 seeds": [2] * 9,
    "9 filters, three with 3 seeds": [3] * 3 + [1] * 6,
    "9 filters, two with 3 seeds": [3] * 2 + [1] * 7,
    "25 filters, 3 seeds": [3] * 25,
    "25 filters, 2 seeds": [2] * 25,
    "25 filters, ten with 3 seeds": [3] * 10 + [1] * 15,
}


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("metric", METRICS)
def test_equal_filters_are_seldom_told_apart(metric: str, seeds: str) -> None:
    rng, noises = np.random.default_rng(2026), METRICS[metric]
    quality = [20.0] * len(SEEDS[seeds])
    wrong = sum(any_better(simulate(rng, quality, SEEDS[seeds], noises)) for _ in range(TABLES)) / TABLES
    print(f"\n{metric}, {seeds}: any better in {wrong:.1%} of {TABLES} tables")
    assert 0.002 <= wrong <= 0.07


@pytest.mark.parametrize(("points", "least"), [(4, 0.45), (5, 0.82), (6, 0.97)])
def test_a_better_filter_is_found(points: int, least: float) -> None:
    rng, quality = np.random.default_rng(2026), [20.0] * 8 + [20.0 + points]
    power = sum(best(simulate(rng, quality, [3] * 9), 8) for _ in range(TABLES)) / TABLES
    print(f"\n{points} points above eight equal filters, 3 seeds: best in {power:.1%}")
    assert power >= least


def test_intervals_hold_what_they_promise() -> None:
    for metric, noises in METRICS.items():
        rng, held = np.random.default_rng(2026), []
        for _ in range(TABLES):
            comparison = simulate(rng, [20.0] * 9, [3] * 4 + [1] * 5, noises)
            intervals = [estimate.interval or (0.0, 0.0) for estimate in comparison.estimates]
            held.append([low <= 20.0 <= high for low, high in intervals])
        print(f"\n{metric}: {np.mean(held):.1%} of 95% intervals hold the quality")
        assert 0.93 <= np.mean(held) <= 0.98
