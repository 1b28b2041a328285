"""Tokenized captions in one array, one after the other, and their division into forward passes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PackedCaptions:
    """Token ids of n captions in ascending order of length, t in all.

    Args:
        ids: token ids of all captions, shape (t,).
        lengths: tokens per caption, shape (n,).
    """

    ids: Integers
    lengths: Integers

    def starts(self) -> Integers:
        """Return the index of each caption's first token, shape (n,)."""
        return self.lengths.cumsum() - self.lengths

    def positions(self, padding: int) -> Integers:
        """Return RoBERTa's position ids, shape (t,), from the id `padding` + 1 on; padding tokens get `padding`."""
        is_word = self.ids != padding
        words = is_word.cumsum()
        words_before = np.repeat((words - is_word)[self.starts()], self.lengths)
        return np.where(is_word, words - words_before, 0) + padding

    def groups(self) -> list[tuple[int, int]]:
        """Return the captions of each length, as pairs (captions, tokens per caption)."""
        lengths, counts = np.unique(self.lengths, return_counts=True)
        return list(zip(counts.tolist(), lengths.tolist(), strict=True))

    def passes(self, budget: int) -> Iterator["PackedCaptions"]:
        """Yield consecutive captions of at most `budget` tokens; a longer caption has its own pass."""
        ends = self.lengths.cumsum()
        first = token = 0
        while first < len(ends):
            stop = max(first + 1, int(np.searchsorted(ends, token + budget, side="right")))
            end = int(ends[stop - 1])
            yield PackedCaptions(self.ids[token:end], self.lengths[first:stop])
            first, token = stop, end


def pack(captions: Sequence[Sequence[int]]) -> tuple[Integers, PackedCaptions]:
    """Return the order of the captions by length, shape (n,), and their token ids in that order."""
    lengths = np.fromiter(map(len, captions), np.int64, len(captions))
    order = np.argsort(lengths, kind="stable")
    ids = chain.from_iterable(map(captions.__getitem__, order.tolist()))
    return order, PackedCaptions(np.fromiter(ids, np.int64, lengths.sum()), lengths[order])
