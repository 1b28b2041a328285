from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import studentized_range
from scipy.stats import t as students_t

from benchmark.results.report.significance import (
    OVER_IMAGES,
    OVER_SEEDS,
    Comparison,
    compare,
    p_text,
    range_p_values,
)
from tests.benchmark.results.report.simulated_tables import any_better, best, simulate

Floats = npt.NDArray[np.float64]
IMAGES = 500


def test_few_of_equal_filters_are_told_apart_and_a_better_one_is_found() -> None:
    """`tests/full/test_equal_filters.py` has the table of docs/report.md."""
    rng, equal, seeds = np.random.default_rng(0), [20.0] * 9, [3] * 6 + [1] * 3
    comparisons = [simulate(rng, equal, seeds) for _ in range(80)]
    assert 1 <= sum(map(any_better, comparisons)) <= 0.07 * 80
    intervals = [estimate.interval or (0, 0) for of in comparisons for estimate in of.estimates]
    held = np.array([low <= 20.0 <= high for low, high in intervals]).reshape(80, 9)
    for share in (held[:, :6].mean(), held[:, 6:].mean()):
        assert 0.92 <= share <= 0.985
    assert np.mean([best(simulate(rng, [*equal[1:], 26.0], [3] * 9), 8) for _ in range(30)]) >= 0.8


def test_untested_pairs_are_told_apart_over_images_only() -> None:
    rng = np.random.default_rng(0)
    floor = [1 + 0.01 * rng.standard_normal((3, IMAGES)), 20 + 10 * rng.standard_normal((1, IMAGES))]
    comparison = compare([parts.mean(axis=1).tolist() for parts in floor], floor)
    assert np.isnan(comparison.p_values).all()  # the floor says nothing of the noise above it
    assert (comparison.better(1, 0, over_images=True), comparison.better(1, 0)) == (True, False)


def tables(
    *means: float, runs: int = 3, noise: float = 1.0, shared: float = 1.0, seed: int = 0
) -> list[Floats]:
    """What each image adds to the metric of each run, by filter."""
    rng = np.random.default_rng(seed)
    return [mean + rng.normal(0, noise, (runs, IMAGES)) + rng.normal(0, shared, (runs, 1)) for mean in means]


def compared(parts: list[Floats], *without: int, **more: Any) -> Comparison:
    """Compare filters; the images of those in `without` are unknown."""
    known = [None if index in without else of for index, of in enumerate(parts)]
    return compare([of.mean(axis=1).tolist() for of in parts], known, **more)


def test_the_test_is_that_of_its_formula() -> None:
    parts = [*tables(20.0, 10.0), *tables(17.0, runs=1, seed=1)]
    of_seed = np.mean([of.mean(axis=1).var(ddof=1) for of in parts[:2]])
    residuals = [of - of.mean(axis=0) - of.mean(axis=1, keepdims=True) + of.mean() for of in parts[:2]]
    independent = np.mean([np.sum(of**2) / 2 / (IMAGES - 1) for of in residuals]) / IMAGES
    shared = of_seed - independent
    assert shared > 0
    over_images = np.var(parts[0].mean(axis=0) - parts[2].mean(axis=0), ddof=1) / IMAGES
    total, seeds = over_images + shared * (1 / 3 + 1), of_seed * (1 / 3 + 1)
    freedom = total**2 / (over_images**2 / (IMAGES - 1) + seeds**2 / 4)
    comparison = compared(parts)
    q = 2**0.5 * abs(parts[0].mean() - parts[2].mean()) / total**0.5
    assert comparison.p_values[0, 2] == pytest.approx(studentized_range.sf(q, 3, freedom), abs=3e-4)
    over_images = np.var(parts[2], ddof=1) / IMAGES
    freedom = (over_images + shared) ** 2 / (over_images**2 / (IMAGES - 1) + of_seed**2 / 4)
    half = students_t.ppf(0.975, freedom) * (over_images + shared) ** 0.5
    mean = parts[2].mean()
    assert comparison.estimates[2].interval == pytest.approx((mean - half, mean + half))
    assert comparison.pairs == 3


@pytest.mark.parametrize(("count", "freedom"), [(2, 4), (3, 4), (9, 18), (25, 20), (25, 60), (100, 40)])
def test_the_studentised_range_is_that_of_scipy(count: int, freedom: int) -> None:
    q = np.array([0.0, 1.0, 3.0, 4.0, 5.0, 6.0, 8.0, np.inf])
    expected = studentized_range.sf(q[:-1], count, freedom)
    assert range_p_values(q, count, np.full(8, float(freedom))) == pytest.approx([*expected, 0], abs=3e-4)


def test_noise_of_training_within_images_counts_once() -> None:
    """Seeds with noise that is independent between images add nothing to the variance over images."""
    rng, held = np.random.default_rng(0), []
    for _ in range(60):
        images = rng.normal(0, 5, IMAGES)
        estimates = compared([images + rng.normal(0, 20, (2, IMAGES)) for _ in range(5)]).estimates
        held += [low <= 0 <= high for low, high in (estimate.interval or (1, 1) for estimate in estimates)]
    assert 0.92 <= np.mean(held) <= 0.98


def test_filters_at_the_floor_do_not_narrow_others() -> None:
    above, floor = tables(20.0, 21.0), tables(0.1, 0.2, 0.15, noise=0.1, shared=0.01)
    expected = compared(above).estimates
    assert compared([*above, *floor]).estimates[:2] == expected
    # A filter with one seed above the floor has unknown noise of training.
    alone = compared([*tables(20.0, runs=1), *floor])
    assert (alone.estimates[0].noise, alone.estimates[1].noise) == (OVER_IMAGES, "")
    assert np.isnan(alone.p_values[0]).all()
    # A filter at the floor with too few like it has the noise of those above.
    widths = [i[1] - i[0] for e in compared([*above, *floor[:1]]).estimates if (i := e.interval)]
    assert widths[2] > (compared(floor).estimates[0].interval or (0, 0))[1] - 0.15


def test_a_paired_test_finds_what_intervals_hide() -> None:
    rng = np.random.default_rng(0)
    difficulty = rng.normal(50, 30, IMAGES)  # of an image for every filter
    images = np.stack([difficulty + rng.normal(0, 2, IMAGES), difficulty + rng.normal(1, 2, IMAGES)])
    parts = [np.stack([of - 0.01, of, of + 0.01]) for of in images]
    comparison = compared(parts)
    low, high = (estimate.interval for estimate in comparison.estimates)
    assert low is not None
    assert high is not None
    assert low[1] > high[0]
    assert comparison.better(1, 0)


def test_one_seed_is_compared_by_the_noise_of_the_others() -> None:
    parts = [*tables(10.0, 20.0, 30.0, noise=0.1, shared=0.1), *tables(20.0, runs=1, noise=0.1, shared=0.0)]
    comparison = compared(parts)
    assert [comparison.verdict(index, 0) for index in (1, 3)] == ["better (p < .001)"] * 2
    assert comparison.verdict(0, 1) == "worse (p < .001)"
    assert comparison.verdict(1, 3).startswith("not shown (p ")
    assert [comparison.ranks(index, range(4)) for index in range(4)] == [(4, 4), (2, 3), (1, 1), (2, 3)]


def test_an_unknown_noise_leaves_the_interval_of_the_other() -> None:
    one = tables(20.0, 20.0, runs=1, noise=0.01 * IMAGES**0.5, shared=0.0)
    comparison = compared(one)
    assert {estimate.noise for estimate in comparison.estimates} == {OVER_IMAGES}
    low, high = comparison.estimates[0].interval or (0, 0)
    assert high - low == pytest.approx(2 * 0.0196, abs=0.004)
    assert (comparison.pairs, comparison.verdict(0, 1)) == (0, "not tested")
    comparison = compared(tables(10.0, 20.0), 0, 1)
    assert {estimate.noise for estimate in comparison.estimates} == {OVER_SEEDS}
    assert (comparison.pairs, comparison.better(1, 0)) == (0, False)  # seeds alone are not enough


def test_rare_inputs_are_compared_as_far_as_they_go() -> None:
    known, unknown = compared(tables(10.0, 20.0), 1).estimates
    assert (known.interval is None, unknown.interval) == (False, None)  # without scores of images
    limited = compared(tables(1.0, shared=2.0), limits=(0.0, 1.5))
    assert limited.estimates[0].interval == (0.0, 1.5)
    constant = [np.full((3, IMAGES), 1.0), np.full((3, IMAGES), 2.0)]  # without any noise
    assert compared(constant).better(1, 0)
    assert not any_better(compared(constant[:1] * 2))
    assert compared([np.array([[1.0], [1.1]]), np.array([[5.0], [5.1]])]).pairs == 0  # of one image
    lower = compared(tables(10.0, 20.0, 20.1), higher_is_better=False)
    assert (lower.better(0, 1), lower.ranks(0, [0, 1, 2])) == (True, (1, 1))
    # With two seeds of one filter only a large difference is found.
    few = compared([*tables(10.0, runs=2), *tables(14.0, 200.0, runs=1)])
    assert (few.better(1, 0), few.better(2, 0)) == (False, True)
    assert [p_text(p) for p in (0.0004, 0.0124, 1.0)] == ["p < .001", "p .012", "p 1.000"]
