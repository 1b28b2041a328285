import numpy as np
import pytest

from benchmark.core.errors import UserError
from filters.icc.standardize import Standardizer, fit_standardizer, load_standardizer


def captions_of(lengths):
    return [" ".join(["word"] * int(length)) for length in lengths]


def logit(p):
    return np.log(p / (1 - p))


@pytest.fixture
def drawn():
    """Similarities that fall with the length and spread differently at each."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 20, 3_000)
    logits = rng.normal(2 - 0.2 * lengths, 0.3 + 0.05 * lengths)
    return captions_of(lengths), lengths, (1 / (1 + np.exp(-logits))).astype(np.float32)


@pytest.mark.parametrize("mu", [0, 0.5])
def test_every_length_gets_the_same_mean_and_spread(drawn, mu):
    captions, lengths, similarities = drawn
    scores = fit_standardizer(captions, similarities, mu=mu)(captions, similarities)
    assert scores.dtype == np.float32
    for length in range(3, 20):
        logits = logit(scores[lengths == length].astype(float))
        assert logits.mean() == pytest.approx(mu, abs=1e-3)
        assert logits.std() == pytest.approx(1.0, abs=1e-3)
    row = 17
    same = logit(similarities[lengths == lengths[row]].astype(float))
    z = (logit(float(similarities[row])) - same.mean()) / same.std()
    assert scores[row] == pytest.approx(1 / (1 + np.exp(-z - mu)), abs=1e-4)


def test_sparse_lengths_share_a_bin():
    captions = captions_of([1] * 5 + [2] * 120 + [3] * 4 + [50])
    table = fit_standardizer(captions, np.linspace(0.1, 0.9, len(captions), dtype=np.float32))
    assert table.starts == (1,)  # 1 and 2 close a bin at 125; 3 and 50 are too few for one, and join it


def test_lengths_never_seen_take_the_nearest_bin(tmp_path):
    table = Standardizer((3, 10), (0.0, 1.0), (1.0, 2.0))
    table.save(tmp_path / "t.json")
    scores = load_standardizer(tmp_path / "t.json")(
        captions_of([1, 3, 9, 10, 500]), np.full(5, 0.5, np.float32)
    )
    low = 1 / (1 + np.exp(0.5))
    np.testing.assert_allclose(scores, [0.5, 0.5, 0.5, low, low], atol=1e-6)


def test_exact_zeros_and_ones_have_scores():
    captions = captions_of([4] * 200)
    similarities = np.tile(np.array([0, 1], np.float32), 100)
    scores = fit_standardizer(captions, similarities)(captions, similarities)
    np.testing.assert_allclose(np.unique(scores), 1 / (1 + np.exp(np.array([1.0, -1.0]))), atol=1e-6)


def test_one_caption_is_enough_and_none_is_not():
    one = np.array([0.3], np.float32)
    np.testing.assert_allclose(fit_standardizer(["alone"], one)(["alone"], one), [0.5])
    with pytest.raises(UserError, match="at least one caption"):
        fit_standardizer([], one[:0])
