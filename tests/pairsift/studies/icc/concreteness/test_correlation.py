import numpy as np
import pytest
from scipy import stats

from pairsift.studies.icc.concreteness import correlation
from pairsift.studies.icc.concreteness.correlation import NAMES, bootstrap, correlate

ORACLES = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def test_coefficients_equal_those_by_hand() -> None:
    """Sums of products 8, of squares 5 and 21; ranks 1 2 3 4 and 1 3 2 4; of 6 pairs of ranks one disagrees."""
    found = correlate(np.array([1, 2, 3, 4], np.float32), np.array([1.0, 4, 2, 7]))
    assert found["pearson"].value == pytest.approx(8 / np.sqrt(5 * 21))
    assert found["spearman"].value == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert found["kendall"].value == pytest.approx((5 - 1) / 6)


def test_the_bootstrap_equals_a_loop_over_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlation, "CELLS", 400)  # several blocks
    rng = np.random.default_rng(0)
    x, y = np.round(rng.normal(size=60), 1), rng.integers(0, 4, 60).astype(float)
    found = bootstrap(x, y, seed=7, resamples=18)
    again = np.random.default_rng(7)
    rows = [row for _ in range(3) for row in again.integers(0, 60, (6, 60))]
    for name, oracle in ORACLES.items():
        expected = [oracle(x[row], y[row]).statistic for row in rows]
        assert found[name] == pytest.approx(expected, abs=1e-12), name


def test_intervals_are_percentiles_and_repeat() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    x = y + rng.normal(size=80)
    first = correlate(x, y, seed=1, resamples=100)
    assert first == correlate(x, y, seed=1, resamples=100)
    assert first != correlate(x, y, seed=2, resamples=100)
    percentile = np.percentile(bootstrap(x, y, 1, 100)["kendall"], 2.5)
    assert first["kendall"].low == pytest.approx(percentile, abs=1e-12)
    for name in NAMES:
        c = first[name]
        assert c.low < c.value < c.high
        assert c.resamples == 100
    wide = correlate(x[:20], y[:20], seed=1, resamples=100)["pearson"]
    assert wide.high - wide.low > first["pearson"].high - first["pearson"].low


def test_many_texts_take_fewer_resamples_for_kendall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correlation, "KENDALL_TEXTS", 50)
    rng = np.random.default_rng(0)
    found = correlate(rng.normal(size=60), rng.normal(size=60), resamples=250)
    assert [found[name].resamples for name in NAMES] == [250, 250, 200]


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1.0, 1, 1], [1.0, 2, 3], "all scores are equal"),
        ([1.0, 2, 3], [2.0, 2, 2], "all ratings are equal"),
        ([1.0, 2], [1.0, 2], "2 scored texts; a correlation needs 3"),
        ([], [], "0 scored texts; a correlation needs 3"),
    ],
)
def test_an_undefined_correlation_has_a_reason(x: list, y: list, reason: str) -> None:
    for c in correlate(np.array(x), np.array(y)).values():
        assert (c.value, c.absolute, c.low, c.reason) == (None, None, None, reason)


def test_resamples_without_a_coefficient_are_left_out() -> None:
    """One of four scores differs: a resample that misses it has no correlation, and no zero either."""
    found = correlate(np.array([0.0, 0, 0, 1]), np.array([1.0, 2, 3, 4]), resamples=400)
    counts = {c.resamples for c in found.values()}
    assert len(counts) == 1
    assert 200 < counts.pop() < 350  # 1 - (3/4)^4 - (1/4)^4 of 400 is 272
