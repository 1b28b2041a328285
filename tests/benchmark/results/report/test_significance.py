import numpy as np
import pytest
from scipy.stats import ttest_ind

from benchmark.results.report.significance import compare, holm, t_interval

RESAMPLES = 1000


def resampled(images: np.ndarray, seed: int = 0) -> list[np.ndarray]:
    """Means of every row over the same resampled images."""
    counts = np.random.default_rng(seed).multinomial(
        images.shape[1], np.full(images.shape[1], 1 / images.shape[1]), RESAMPLES
    )
    return list(images @ counts.T / images.shape[1])


def test_95_percent_of_t_intervals_hold_the_mean() -> None:
    draws = np.random.default_rng(0).normal(1.0, 0.2, (500, 3))
    intervals = [t_interval(list(row)) for row in draws]
    covered = [found is not None and found[0] <= 1.0 <= found[1] for found in intervals]
    assert 0.92 <= np.mean(covered) <= 0.98


def test_two_seeds_say_nothing_of_others() -> None:
    assert t_interval([1.0, 1.1]) is None
    assert t_interval([1.0, 1.0, 1.0]) == (1.0, 1.0)


@pytest.mark.slow
def test_equal_filters_are_seldom_told_apart() -> None:
    """Ten filters of one quality: any pair is called different in at most 5% of the simulations, and some more."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(100):
        images = rng.normal(0.5, 0.2, 200) + rng.normal(0, 0.2, (10, 200))
        means = [[float(mean)] for mean in images.mean(axis=1)]
        wrong += bool(compare(means, resampled(images)).over_images.any())
    assert wrong <= 10


def test_a_paired_test_finds_what_intervals_hide() -> None:
    rng = np.random.default_rng(0)
    difficulty = rng.normal(0.5, 0.3, 400)  # of an image for every filter
    images = np.stack([difficulty + rng.normal(0.0, 0.02, 400), difficulty + rng.normal(0.01, 0.02, 400)])
    found = compare([[float(mean)] for mean in images.mean(axis=1)], resampled(images))
    low, high = (estimate.over_images for estimate in found.estimates)
    assert low is not None
    assert high is not None
    assert low[1] > high[0]
    assert found.over_images.tolist() == [[0, -1], [1, 0]]


SEEDS = {"high": [20.0, 20.2, 20.1], "low": [10.0, 10.1, 10.3], "noisy": [9.0, 21.0, 27.0], "one": [20.0]}


def images_of(*names: str) -> list[np.ndarray | None]:
    """Resampled means without noise of images, beside those of the seeds."""
    rng = np.random.default_rng(0)
    return [np.mean(SEEDS[name]) + rng.normal(0, 0.01, RESAMPLES) for name in names]


def verdicts(*names: str) -> list[str]:
    found = compare([SEEDS[name] for name in names], images_of(*names))
    return [found.verdict(index, 0) for index in range(1, len(names))]


def test_better_means_over_images_and_over_seeds() -> None:
    assert verdicts("low", "high", "noisy", "one") == ["better", "not better", "ahead, too few seeds to tell"]
    assert verdicts("high", "low", "noisy") == ["worse", "not better"]
    found = compare([SEEDS["low"], SEEDS["high"]], [None, None])
    assert found.verdict(1, 0) == "not better"  # seeds alone are not enough


def test_seeds_are_compared_by_welchs_test() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        one, other = rng.normal(0, 1, 3).tolist(), rng.normal(2, 3, 5).tolist()
        low, high = ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
        expected = int(low > 0) - int(high < 0)
        signs = compare([one, other], [None, None]).over_seeds
        assert signs.tolist() == [[0, expected], [-expected, 0]]


def test_ranks_leave_open_what_is_not_significant() -> None:
    names = ("low", "high", "noisy", "one")
    found = compare([SEEDS[name] for name in names], images_of(*names))
    everyone = range(len(names))
    assert [found.ranks(index, everyone) for index in everyone] == [(3, 4), (1, 2), (2, 4), (2, 2)]
    assert found.ranks(1, [0, 1]) == (1, 1)


def test_holms_correction_is_that_of_the_definition() -> None:
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])).tolist() == [True, False, False, True]
    assert holm(np.array([0.001, 0.002])).all()
    assert not holm(np.array([0.2])).any()


@pytest.mark.parametrize("values", [[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]])
def test_runs_without_any_noise_compare_by_their_values(values: list[list[float]]) -> None:
    constant = [np.full(RESAMPLES, of[0]) for of in values]
    assert compare(values, constant).better(1, 0)
    assert not compare([values[0], values[0]], [constant[0]] * 2).over_images.any()
