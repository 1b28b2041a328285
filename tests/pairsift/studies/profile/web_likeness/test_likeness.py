"""Statistics of made captions, and the models of Witten and Bell under them, worked out by hand."""

from math import log2, log10, sqrt

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from pairsift.studies.profile.web_likeness import statistics
from pairsift.studies.profile.web_likeness.statistics import (
    SIMILARITY,
    CharacterModel,
    NgramModel,
    TooFewWordsError,
    distinct_fraction,
    measure_likeness,
    near_copies,
    trigram_perplexity,
)

FILES = [f"a photo x{n}.jpg" for n in range(500)]  # all captions share three of their four words


def test_statistics_equal_those_by_hand() -> None:
    found = measure_likeness(FILES, frozenset({"a", "photo"}))
    assert (found.captions, found.words, found.word_types) == (500, 2000, 503)
    assert found.heaps_exponent == pytest.approx(log10(503 / 53))  # a tenth are 50 captions
    assert found.distinct_bigrams == pytest.approx(1001 / 1500)
    assert found.distinct_trigrams == 1.0
    assert found.unseen_words == pytest.approx(0.25)
    assert (found.exact_repeats, found.near_copies) == (0.0, 1.0)
    assert found.words_per_caption == 3.0
    assert (found.digit_words, found.rated_words, found.other_words) == (0.25, 0.5, 0.25)
    assert found.web_strings == 1.0
    lengths = found.bits_per_caption / found.bits_per_character
    assert lengths == pytest.approx(np.mean([len(text) + 1 for text in FILES]), abs=0.5)


def test_only_35000_words_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert statistics.WORDS == 35_000
    monkeypatch.setattr(statistics, "WORDS", 2_100)
    found = measure_likeness([f"a b c d e f {n}" for n in range(600)], None)
    assert found.words == 2_100
    assert (found.rated_words, found.other_words) == (None, None)


def test_exact_repeats_count_all_but_the_first() -> None:
    texts = [*(f"a dog called {n}" for n in range(300)), *(["one two three four"] * 100)]
    assert measure_likeness(texts, None).exact_repeats == pytest.approx(99 / 400)
    with pytest.raises(TooFewWordsError, match="have 12 words; their statistics need 1,000"):
        measure_likeness(FILES[:3], None)
    assert distinct_fraction([["a", "b"], ["a", "b"], ["c"]], 2) == 0.5  # n-grams do not cross captions
    assert distinct_fraction([["a"]], 2) == 0.0


def share(*captions: str) -> float:
    return near_copies([caption.split() for caption in captions])


def test_more_than_three_of_five_words_are_a_near_copy() -> None:
    assert share("a b c d", "a b c x") == 1.0
    assert share("a b c d e", "a b c x y") == 0.0  # exactly .6
    assert share("a b c", "a b c d", "x") == pytest.approx(2 / 3)
    assert share("a b c d e", "e d c b a") == 0.0  # the order counts
    assert share("a", "b", "c") == 0.0  # a caption is not a copy of itself
    assert share("a", "b", "a") == pytest.approx(2 / 3)


def test_blocks_find_the_same_as_all_pairs() -> None:
    rng = np.random.default_rng(0)
    lists = [[str(w) for w in rng.integers(0, 7, rng.integers(1, 14))] for _ in range(200)]
    near = [
        any(i != j and Levenshtein.normalized_similarity(a, b) > SIMILARITY for j, b in enumerate(lists))
        for i, a in enumerate(lists)
    ]
    assert 0.1 < np.mean(near) < 0.9
    assert near_copies(lists) == pytest.approx(np.mean(near))


# A bigram model of "^ab$". After nothing, a, b and $ have (1 + 3 * 1/4) / (3 + 3); unseen ones (3 * 1/4) / 6.
SEEN, UNSEEN = 7 / 24, 1 / 8


def test_sequences_have_the_bits_by_hand() -> None:
    model = NgramModel(["^ab$"], 2)
    # Each symbol was the only one after its context: (1 + 1 * 7/24) / (1 + 1).
    assert model.bits("^ab$") == pytest.approx(-3 * log2((1 + SEEN) / 2))
    bits = -log2(UNSEEN / 2) - log2(SEEN) - log2(SEEN / 2)  # c after ^; a after the unknown c; $ after a
    assert model.bits("^ca$") == pytest.approx(bits)


def test_the_end_of_a_caption_is_a_character() -> None:
    model = CharacterModel(["aaa", "ab"])
    assert model.bits_per_character("ab") == model.bits("ab") / 3
    assert model.bits("") > 0


def test_perplexity_equals_that_by_hand() -> None:
    # After nothing, "a" and the end have (1 + 2/3) / 4 = 5/12, then 17/24 and 41/48 after longer contexts.
    assert trigram_perplexity([["a"]], [["a"]]) == pytest.approx(48 / 41)
    # An unseen word has 2/3 / 4, halved twice; its end is known to follow no context but the empty one.
    assert trigram_perplexity([["a"]], [["b"]]) == pytest.approx(1 / sqrt(1 / 24 * 5 / 12))
    assert trigram_perplexity([["a"]], [["b"]]) == trigram_perplexity([["a"]], [["c"]])
