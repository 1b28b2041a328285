import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import t as students_t

from benchmark.results.report.significance import OVER_IMAGES, OVER_SEEDS, Comparison, compare, holm, p_text

Floats = npt.NDArray[np.float64]
RESAMPLES = 1000
# As measured on the demo: SD of CIDEr over seeds .89, error over images about 1, most of it shared by all filters.
SEEDS_SD, IMAGES, DIFFICULTY, OF_IMAGE = 0.89, 500, 20.0, 12.0
COUNTS = np.random.default_rng(0).multinomial(IMAGES, np.full(IMAGES, 1 / IMAGES), RESAMPLES).T / IMAGES


def resampled(images: Floats) -> list[Floats | None]:
    """Means of every row over the same resampled images."""
    return list(images @ COUNTS)


def simulate(rng: np.random.Generator, quality: Floats, seeds: list[int]) -> Comparison:
    """Compare filters of this quality, as many runs of each as `seeds` says, on newly drawn images."""
    difficulty = rng.normal(0, DIFFICULTY, IMAGES)
    values, means = [], []
    for mean, count in zip(quality, seeds, strict=True):
        runs = (
            mean + difficulty + rng.normal(0, OF_IMAGE, (count, IMAGES)) + rng.normal(0, SEEDS_SD, (count, 1))
        )
        values.append(runs.mean(axis=1).tolist())
        means.append(runs.mean(axis=0))
    return compare(values, resampled(np.stack(means)))


def any_better(found: Comparison) -> bool:
    n = len(found.estimates)
    return any(found.better(one, other) for one in range(n) for other in range(n))


@pytest.mark.parametrize("seeds", [[3] * 9, [1] * 9, [3] * 3 + [1] * 6])
def test_nine_equal_filters_are_seldom_told_apart(seeds: list[int]) -> None:
    rng = np.random.default_rng(0)
    wrong = sum(any_better(simulate(rng, np.full(9, 20.0), seeds)) for _ in range(500))
    assert wrong <= 0.07 * 500
    if max(seeds) == 1:
        assert wrong == 0  # the noise of training is unknown


@pytest.mark.parametrize("seeds", [[3] * 9, [3] * 8 + [1]])
def test_a_filter_that_is_much_better_is_found(seeds: list[int]) -> None:
    rng, quality = np.random.default_rng(0), np.array([20.0] * 8 + [27.0])
    found = [simulate(rng, quality, seeds) for _ in range(100)]
    best = [all(of.better(8, other) for other in range(8)) for of in found]
    assert np.mean(best) >= 0.8


def test_95_percent_of_intervals_hold_the_quality() -> None:
    rng, seeds = np.random.default_rng(0), [3] * 4 + [1] * 4
    held = []
    for _ in range(200):
        intervals = [e.interval or (0, 0) for e in simulate(rng, np.full(8, 20.0), seeds).estimates]
        held.append([low <= 20.0 <= high for low, high in intervals])
    assert 0.92 <= np.mean(np.array(held)[:, :4]) <= 0.985
    assert 0.92 <= np.mean(np.array(held)[:, 4:]) <= 0.985


def test_the_test_is_that_of_its_formula() -> None:
    values = [[20.0, 21.0, 22.0], [10.0, 12.0, 14.0], [17.0]]
    images = np.random.default_rng(0).normal(0, 1, (3, RESAMPLES)) + np.array([[21.0], [12.0], [17.0]])
    found = compare(values, list(images))
    pooled = (2 * 1.0 + 2 * 4.0) / 4
    variance = pooled * (1 / 3 + 1) + np.var(images[0] - images[2], ddof=1)
    assert found.single[0, 2] == pytest.approx(2 * students_t.sf(4.0 / variance**0.5, 4))
    half = students_t.ppf(0.975, 4) * (pooled + np.var(images[2], ddof=1)) ** 0.5
    assert found.estimates[2].interval == pytest.approx((17.0 - half, 17.0 + half))
    assert found.p_values[0, 2] == pytest.approx(holm(found.single[[0, 0, 1], [1, 2, 2]])[1])
    assert found.pairs == 3


def test_a_paired_test_finds_what_intervals_hide() -> None:
    rng = np.random.default_rng(0)
    difficulty = rng.normal(50, 30, IMAGES)  # of an image for every filter
    images = np.stack([difficulty + rng.normal(0, 2, IMAGES), difficulty + rng.normal(1, 2, IMAGES)])
    means = images.mean(axis=1)
    found = compare([[mean - 0.01, mean, mean + 0.01] for mean in means], resampled(images))
    low, high = (estimate.interval for estimate in found.estimates)
    assert low is not None
    assert high is not None
    assert low[1] > high[0]
    assert found.better(1, 0)


VALUES = {"high": [20.0, 20.2, 20.1], "low": [10.0, 10.1, 10.3], "one": [20.0]}


def compared(*names: str, noise: float = 0.01) -> Comparison:
    rng = np.random.default_rng(0)
    images: list[Floats | None] = [np.mean(VALUES[name]) + rng.normal(0, noise, RESAMPLES) for name in names]
    return compare([VALUES[name] for name in names], images)


def test_one_seed_is_compared_by_the_noise_of_the_others() -> None:
    found = compared("low", "high", "one")
    assert [found.verdict(index, 0) for index in (1, 2)] == ["better (p < .001)"] * 2
    assert found.verdict(0, 1) == "worse (p < .001)"
    assert found.verdict(1, 2) == "not shown (p .541)"
    assert [found.ranks(index, range(3)) for index in range(3)] == [(3, 3), (1, 2), (1, 2)]


def test_an_unknown_noise_leaves_the_interval_of_the_other() -> None:
    found = compared("one", "one")
    assert {estimate.noise for estimate in found.estimates} == {OVER_IMAGES}
    assert found.estimates[0].interval == pytest.approx((20 - 0.0196, 20 + 0.0196), abs=0.002)
    assert (found.pairs, found.verdict(0, 1)) == (0, "not tested")
    found = compare([VALUES["low"], VALUES["high"]], [None, None])
    assert {estimate.noise for estimate in found.estimates} == {OVER_SEEDS}
    assert (found.pairs, found.better(1, 0)) == (0, False)  # seeds alone are not enough


def test_a_row_without_scores_of_images_has_no_interval() -> None:
    found = compare([VALUES["low"], VALUES["high"]], [np.linspace(9, 11, RESAMPLES), None])
    assert found.estimates[0].interval is not None
    assert found.estimates[1].interval is None


def test_each_protocol_has_its_own_noise_of_training() -> None:
    values = [[20.0, 21.0, 22.0], [10.0, 10.01, 10.02], [5.0]]
    images: list[Floats | None] = [np.full(RESAMPLES, np.mean(of)) for of in values]
    found = compare(values, images, protocols=["a", "b", "c"])
    widths = [e.interval[1] - e.interval[0] for e in found.estimates if e.interval]
    assert widths[1] == pytest.approx(widths[0] / 100)
    assert (found.estimates[2].noise, found.pairs) == (OVER_IMAGES, 1)


def test_an_interval_ends_where_the_metric_does() -> None:
    found = compare([[0.1, 1.0, 2.0]], [np.linspace(0, 2, RESAMPLES)], limits=(0.0, 2.5))
    assert found.estimates[0].interval == (0.0, 2.5)


def test_holms_correction_is_that_of_the_definition() -> None:
    corrected = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    assert corrected == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]


def test_p_values_have_three_digits() -> None:
    assert [p_text(p) for p in (0.0004, 0.0124, 1.0)] == ["p < .001", "p .012", "p 1.000"]


def test_runs_without_any_noise_compare_by_their_values() -> None:
    constant: list[Floats | None] = [np.full(RESAMPLES, 1.0), np.full(RESAMPLES, 2.0)]
    assert compare([[1.0] * 3, [2.0] * 3], constant).better(1, 0)
    assert not any_better(compare([[1.0] * 3] * 2, [constant[0]] * 2))


def test_lower_may_be_better() -> None:
    rng = np.random.default_rng(0)
    images: list[Floats | None] = [
        np.mean(VALUES[name]) + rng.normal(0, 0.01, RESAMPLES) for name in ("low", "high")
    ]
    found = compare([VALUES["low"], VALUES["high"]], images, higher_is_better=False)
    assert found.better(0, 1)
    assert found.ranks(0, [0, 1]) == (1, 1)
