"""Statistics of a list of captions, which show how web-like it is."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from benchmark.core.errors import UserError
from pairsift.studies.profile.web_likeness.tokens import (
    DIGITS,
    OTHER,
    RATED,
    count_kinds,
    has_web_string,
    split_words,
)

WORDS = 35_000  # that most statistics are computed on, as they depend on the number
MIN_WORDS = 1_000  # with fewer the statistics say nothing
TRAINING_SHARE = 0.8  # of the captions; the models are tested on the others
COPIES = 4_000  # captions among which repeats and near copies are counted
LENGTHS = 10_000  # captions whose lengths and web strings are counted
SIMILARITY = 0.6  # of words, 1 - edit distance / longer length; a near copy has more
_ROUNDING = 1e-6  # of similarities in single precision
CHARACTERS, TRIGRAM = 7, 3  # symbols of the longest n-gram of the models of characters and of words
_START, _END = "\x02", "\x03"  # no caption contains them
Symbols = str | tuple[str, ...]  # characters or words


class TooFewWordsError(UserError):
    """There are too few words for statistics."""


@dataclass(frozen=True)
class Likeness:
    """Statistics of captions in random order; fractions are from 0 to 1."""

    captions: int
    words: int  # number of words of the sample: the first captions that have 35,000 together, or all
    word_types: int  # distinct words in the sample
    # Growth of the distinct words from a tenth of the sample to all of it, as an exponent.
    heaps_exponent: float
    distinct_bigrams: float  # fraction of different pairs among the sample's pairs of words
    distinct_trigrams: float  # the same of three words
    trigram_perplexity: float  # of a fifth of the sample's captions, under a word model of the others
    unseen_words: float  # fraction of the words of that fifth that the others lack
    bits_per_caption: float  # mean over that fifth, under a character 7-gram model of the others
    bits_per_character: float  # of the same
    exact_repeats: float  # fraction of 4,000 captions that equal an earlier one
    # Fraction of 4,000 captions whose words are more than 60% similar to another's, by edit distance.
    near_copies: float
    words_per_caption: float  # mean number of words between white space
    digit_words: float  # fraction of the sample's words that contain a digit
    rated_words: float | None  # fraction of words with a concreteness rating; None without the ratings
    other_words: float | None  # fraction of the other words, most of them names; None without the ratings
    web_strings: float  # fraction of captions with a URL or the name of a picture file


def measure_likeness(captions: Sequence[str], rated: frozenset[str] | None) -> Likeness:
    """Return the statistics of captions in any order; `rated` are the words with a concreteness rating.

    Raises `TooFewWordsError` when the captions have fewer than 1,000 words.
    """
    texts = [captions[row] for row in random_order(len(captions))]
    sample = _first_words(texts)
    tokens = [word for words in sample for word in words]
    if len(tokens) < MIN_WORDS:
        raise TooFewWordsError(
            f"the captions have {len(tokens):,} words; their statistics need {MIN_WORDS:,}"
        )
    split = int(len(sample) * TRAINING_SHARE)
    train, test = sample[:split], sample[split:]
    model = CharacterModel(texts[:split])
    held_out = texts[split : len(sample)]
    bits = sum(map(model.bits, held_out))
    kinds = count_kinds(tokens, rated or frozenset())
    early, long = texts[:COPIES], texts[:LENGTHS]
    return Likeness(
        captions=len(texts),
        words=len(tokens),
        word_types=len(set(tokens)),
        heaps_exponent=math.log10(len(set(tokens)) / len(set(tokens[: len(tokens) // 10]))),
        distinct_bigrams=distinct_fraction(sample, 2),
        distinct_trigrams=distinct_fraction(sample, 3),
        trigram_perplexity=trigram_perplexity(train, test),
        unseen_words=unseen_fraction(train, test),
        bits_per_caption=bits / len(held_out),
        bits_per_character=bits / sum(len(text) + 1 for text in held_out),
        exact_repeats=1 - len(set(early)) / len(early),
        near_copies=near_copies([split_words(text) for text in early]),
        words_per_caption=sum(len(text.split()) for text in long) / len(long),
        digit_words=kinds[DIGITS] / len(tokens),
        rated_words=None if rated is None else kinds[RATED] / len(tokens),
        other_words=None if rated is None else kinds[OTHER] / len(tokens),
        web_strings=sum(map(has_web_string, long)) / len(long),
    )


def distinct_fraction(token_lists: Sequence[Sequence[str]], length: int) -> float:
    """Return the fraction of different n-grams among the n-grams of `length` words within captions."""
    grams = [tuple(t[i : i + length]) for t in token_lists for i in range(len(t) - length + 1)]
    return len(set(grams)) / max(1, len(grams))


def unseen_fraction(train: Sequence[Sequence[str]], test: Sequence[Sequence[str]]) -> float:
    """Return the fraction of the words of the captions `test` that the captions `train` lack."""
    seen = {word for words in train for word in words}
    unseen = [word not in seen for words in test for word in words]
    return sum(unseen) / max(1, len(unseen))


def random_order(count: int) -> list[int]:
    """Return the numbers below `count` in an order that is always the same; every list is sampled by it."""
    return random.Random(0).sample(range(count), count)  # noqa: S311


def _first_words(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of the first texts that have 35,000 words together."""
    sample, count = [], 0
    for text in texts:
        if count >= WORDS:
            break
        sample.append(split_words(text))
        count += len(sample[-1])
    return sample


def near_copies(token_lists: Sequence[Sequence[str]]) -> float:
    """Return the fraction of captions whose words are more than 60% similar to another caption's words."""
    similarity = cdist(
        token_lists, token_lists, scorer=Levenshtein.normalized_similarity, score_cutoff=SIMILARITY
    )
    np.fill_diagonal(similarity, 0)
    return float((similarity > SIMILARITY + _ROUNDING).any(axis=1).mean())


class NgramModel:
    """Predicts each symbol of a sequence from the symbols before it, by the interpolation of Witten and Bell (1991).

    The probability of a symbol after a context is (count + kinds * shorter) / (mass + kinds): count and mass are how
    often the symbol and any symbol followed the context, kinds is how many different symbols did, and shorter is the
    probability after the context without its first symbol. Before the empty context, all symbols and one unseen
    symbol are equally likely. Longer contexts than the longest known one are left out.

    Args:
        sequences: to learn from, each padded with order - 1 start symbols and one end symbol.
        order: symbols of the longest n-gram.
    """

    def __init__(self, sequences: Iterable[Symbols], order: int) -> None:
        self.order = order
        self._counts: Counter[Symbols] = Counter()
        for symbols in sequences:
            ends = range(order, len(symbols) + 1)
            for length in range(1, order + 1):
                self._counts.update([symbols[end - length : end] for end in ends])
        self._mass: dict[Symbols, int] = {}
        self._kinds: dict[Symbols, int] = {}
        for gram, count in self._counts.items():
            context = gram[:-1]
            self._mass[context] = self._mass.get(context, 0) + count
            self._kinds[context] = self._kinds.get(context, 0) + 1

    def bits(self, symbols: Symbols) -> float:
        """Return minus the binary logarithm of the probability of a padded sequence."""
        total = 0.0
        uniform = 1 / (self._kinds[symbols[:0]] + 1)
        for last in range(self.order - 1, len(symbols)):
            probability = uniform
            for first in range(last, last - self.order, -1):
                context = symbols[first:last]
                kinds = self._kinds.get(context)
                if kinds is None:
                    break
                count = self._counts.get(symbols[first : last + 1], 0)
                probability = (count + kinds * probability) / (self._mass[context] + kinds)
            total -= math.log2(probability)
        return total


class CharacterModel:
    """A 7-gram model of the characters of `captions`; the end of a caption counts as a character."""

    def __init__(self, captions: Iterable[str]) -> None:
        self._model = NgramModel(map(self._padded, captions), CHARACTERS)

    def bits(self, caption: str) -> float:
        """Return the bits that a caption carries."""
        return self._model.bits(self._padded(caption))

    def bits_per_character(self, caption: str) -> float:
        """Return the bits of a caption over its number of characters, including the end."""
        return self.bits(caption) / (len(caption) + 1)

    def _padded(self, caption: str) -> str:
        return _START * (CHARACTERS - 1) + caption + _END


def trigram_perplexity(train: Sequence[Sequence[str]], test: Sequence[Sequence[str]]) -> float:
    """Return the perplexity of the captions `test` under a trigram model of the words of `train`.

    The end of a caption counts as a word; all words that `train` lacks count as the same unseen word.
    """
    model = NgramModel((_padded(words) for words in train), TRIGRAM)
    bits = sum(model.bits(_padded(words)) for words in test)
    return float(2 ** (bits / sum(len(words) + 1 for words in test)))


def _padded(words: Sequence[str]) -> tuple[str, ...]:
    return (*[_START] * (TRIGRAM - 1), *words, _END)
