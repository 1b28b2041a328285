"""Both kinds of caption diversity: by hand, and against the definitions written out."""

import math
from itertools import combinations

import numpy as np
import pytest

from downstream.metrics import diversity
from downstream.metrics.diversity import fraction_of_differing_pairs, unique_ngrams

WORDS = [f"w{i}" for i in range(60)]


def drawn(captions: int, seed: int, longest: int) -> list[str]:
    """Captions with word frequencies that fall as in language; some are equal, some empty."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(WORDS) + 1)
    lengths = rng.integers(0, longest, captions)
    texts = [" ".join(rng.choice(WORDS, n, p=weights / weights.sum())) for n in lengths]
    return [*texts, *texts[:3], "", ""]


def differ(one: str, other: str) -> bool:
    a, b = set(one.split()), set(other.split())
    return bool(a | b) and len(a & b) / len(a | b) < 0.03


def test_pairs_by_hand() -> None:
    captions = ["a dog runs", "a cat", "two birds", "two birds", ""]
    # Of ten pairs two do not differ: dog and cat ("a"), the two of birds.
    assert fraction_of_differing_pairs(captions) == pytest.approx(8 / 10)
    assert fraction_of_differing_pairs(["a", "b"]) == 1.0
    assert fraction_of_differing_pairs(["a b", "b a a"]) == 0.0
    assert fraction_of_differing_pairs(["", ""]) == 0.0


@pytest.mark.parametrize(("total", "expected"), [(33, 0.0), (34, 1.0)])
def test_one_common_word_is_below_three_percent_of_thirty_four(total: int, expected: float) -> None:
    one = " ".join(str(i) for i in range(total))
    assert fraction_of_differing_pairs([one, "0"]) == expected


def test_pairs_against_the_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diversity, "BLOCK_ROWS", 7)
    captions = drawn(60, 0, longest=45)
    pairs = list(combinations(captions, 2))
    expected = sum(differ(*pair) for pair in pairs) / len(pairs)
    assert 0.1 < expected < 0.9
    assert fraction_of_differing_pairs(captions) == pytest.approx(expected, abs=1e-12)


def test_of_too_many_captions_a_sample_tells_about_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    captions = drawn(600, 0, longest=12)
    whole = fraction_of_differing_pairs(captions)
    monkeypatch.setattr(diversity, "MAX_CAPTIONS", 300)
    sample = fraction_of_differing_pairs(captions)
    assert sample == fraction_of_differing_pairs(captions)
    assert 0 < abs(sample - whole) < 0.05


def test_ngrams_by_hand() -> None:
    curves = unique_ngrams(["a red dog runs fast", "a red cat", "the red cat sat on it", ""])
    assert {length: curve[:6] for length, curve in curves.items()} == {
        1: [2, 1, 2, 2, 2, 1],
        2: [2, 2, 2, 2, 1, 0],
        4: [2, 2, 1, 0, 0, 0],
    }
    assert {len(curve) for curve in curves.values()} == {25}
    assert all(math.fsum(curve[6:]) == 0 for curve in curves.values())
