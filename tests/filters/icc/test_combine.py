import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmark.core.errors import UserError
from filters.icc.combine import Combination, fit_combination, load_combination


def test_the_papers_weights_by_hand():
    # 13.2 * 0.95 + 3.6 * 0.70 - 9.4 = 5.66 and 13.2 * 0.25 + 3.6 * 0.70 - 9.4 = -3.58
    scores = Combination()(np.array([0.95, 0.25], np.float32), np.array([0.7, 0.7], np.float32))
    np.testing.assert_allclose(scores, [1 / (1 + np.exp(-5.66)), 1 / (1 + np.exp(3.58))], atol=1e-5)


def test_captions_at_the_median_have_no_label():
    vba = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 0.99, 0.01], np.float32)
    grades = np.array([0, 0, 0, 3, 3, 3, 1.5, 1.5])
    with_ties = fit_combination(vba, vba[::-1].copy(), grades)
    without = fit_combination(vba[:6], vba[::-1][:6].copy(), grades[:6])
    assert with_ties == without


@pytest.mark.parametrize("grades", [[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 0, 3]])
def test_too_few_labels_are_the_users_mistake(grades):
    with pytest.raises(UserError, match="annotate more"):
        fit_combination(np.zeros(4, np.float32), np.zeros(4, np.float32), np.array(grades, float))


def test_saved_and_loaded(tmp_path):
    Combination(1.5, 2.5, -3.0).save(tmp_path / "c.json")
    assert load_combination(tmp_path / "c.json") == Combination(1.5, 2.5, -3.0)


def test_scores_are_scikit_learns_probabilities():
    rng = np.random.default_rng(0)
    vba, sba = rng.random((2, 300)).astype(np.float32)
    grades = np.round(2 * vba + sba + rng.normal(0, 0.3, 300), 1)
    labelled = grades != np.median(grades)
    model = LogisticRegression(C=1e3, max_iter=10_000)
    model.fit(np.stack([vba, sba], 1)[labelled], grades[labelled] > np.median(grades))
    expected = model.predict_proba(np.stack([vba, sba], 1))[:, 1]
    np.testing.assert_allclose(fit_combination(vba, sba, grades)(vba, sba), expected, atol=1e-6)
