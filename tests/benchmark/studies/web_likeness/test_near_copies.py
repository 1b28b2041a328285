import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from benchmark.studies.web_likeness.statistics import SIMILARITY, near_copies


def share(*captions: str) -> float:
    return near_copies([caption.split() for caption in captions])


def test_more_than_three_of_five_words_are_a_near_copy() -> None:
    assert share("a b c d", "a b c x") == 1.0
    assert share("a b c d e", "a b c x y") == 0.0  # exactly .6
    assert share("a b c", "a b c d", "x") == pytest.approx(2 / 3)


def test_the_order_of_words_counts() -> None:
    assert share("a b c d e", "e d c b a") == 0.0


def test_a_caption_is_no_copy_of_itself() -> None:
    assert share("a", "b", "c") == 0.0
    assert share("a", "b", "a") == pytest.approx(2 / 3)


def test_blocks_find_the_same_as_all_pairs() -> None:
    rng = np.random.default_rng(0)
    lists = [[str(w) for w in rng.integers(0, 12, rng.integers(1, 14))] for _ in range(600)]
    near = [
        any(i != j and Levenshtein.normalized_similarity(a, b) > SIMILARITY for j, b in enumerate(lists))
        for i, a in enumerate(lists)
    ]
    assert 0.1 < np.mean(near) < 0.9
    assert near_copies(lists) == pytest.approx(np.mean(near))
