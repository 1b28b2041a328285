"""N-gram models of characters and of words, smoothed by the interpolation of Witten and Bell (1991)."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

Symbols = str | tuple[str, ...]  # characters or words
CHARACTERS, WORDS = 7, 3  # symbols of the longest n-gram
_START, _END = "\x02", "\x03"  # no caption contains them


class NgramModel:
    """Predicts each symbol of a sequence from the symbols before it.

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
    model = NgramModel((_padded(words) for words in train), WORDS)
    bits = sum(model.bits(_padded(words)) for words in test)
    return float(2 ** (bits / sum(len(words) + 1 for words in test)))


def _padded(words: Sequence[str]) -> tuple[str, ...]:
    return (*[_START] * (WORDS - 1), *words, _END)
