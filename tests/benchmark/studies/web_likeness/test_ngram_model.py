"""Probabilities worked out by hand from the formula of Witten and Bell."""

from math import log2, sqrt

import pytest

from benchmark.studies.web_likeness.ngram_model import CharacterModel, NgramModel, trigram_perplexity

# A bigram model of "^ab$". After nothing, a, b and $ have (1 + 3 * 1/4) / (3 + 3); unseen ones (3 * 1/4) / 6.
SEEN, UNSEEN = 7 / 24, 1 / 8


def test_a_learnt_sequence_has_the_bits_by_hand() -> None:
    model = NgramModel(["^ab$"], 2)
    # Each symbol was the only one after its context: (1 + 1 * 7/24) / (1 + 1).
    assert model.bits("^ab$") == pytest.approx(-3 * log2((1 + SEEN) / 2))


def test_unseen_symbols_and_contexts_have_the_bits_by_hand() -> None:
    model = NgramModel(["^ab$"], 2)
    bits = -log2(UNSEEN / 2) - log2(SEEN) - log2(SEEN / 2)  # c after ^; a after the unknown c; $ after a
    assert model.bits("^ca$") == pytest.approx(bits)


def test_models_of_words_and_characters_agree() -> None:
    text, other = "^^the cat$", "^^a tea$"
    assert NgramModel([text], 3).bits(other) == NgramModel([tuple(text)], 3).bits(tuple(other))


def test_the_end_of_a_caption_is_a_character() -> None:
    model = CharacterModel(["aaa", "ab"])
    assert model.bits_per_character("ab") == model.bits("ab") / 3
    assert model.bits("") > 0


def test_repeated_text_carries_few_bits() -> None:
    model = CharacterModel(["a red ball on a table"] * 9)
    assert model.bits_per_character("a red ball on a table") < 0.3
    assert model.bits_per_character("zyx wvu 987") > 4


def test_perplexity_equals_that_by_hand() -> None:
    # After nothing, "a" and the end have (1 + 2/3) / 4 = 5/12, then 17/24 and 41/48 after longer contexts.
    assert trigram_perplexity([["a"]], [["a"]]) == pytest.approx(48 / 41)
    # An unseen word has 2/3 / 4, halved twice; its end is known to follow no context but the empty one.
    assert trigram_perplexity([["a"]], [["b"]]) == pytest.approx(1 / sqrt(1 / 24 * 5 / 12))
    assert trigram_perplexity([["a"]], [["b"]]) == trigram_perplexity([["a"]], [["c"]])
