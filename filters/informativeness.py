"""Informativeness: captions with nouns and word pairs that are rare in the pool (Ghosal et al. 2019, section 3)."""

import zlib
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from filters.base import Filter, Scores
from filters.text.ngrams import Ngrams

KINDS = ("unigrams", "bigrams")
# Counters per kind of n-gram, 128 MB, whatever the size of the pool. N-grams with the same hash share a counter: with
# 0.7 times as many distinct n-grams as counters, scores are 2.5% too low but rank the same (Spearman 0.9997).
COUNTERS = 1 << 25


class Informativeness(Filter):
    """Equation 2: minus half the sum of the logarithms of the probabilities of a caption's unigrams and bigrams.

    A probability is the n-gram's share of all unigrams, or of all bigrams, of the pool's captions (equation 1).
    Logarithms are natural: in figure 2 a single frequent noun scores 1.85. A caption without n-grams scores 0.

    Args:
        parser: name of an installed spaCy pipeline for English, or the path of one.
    """

    needs = frozenset()
    batch_size: ClassVar[int] = 65536

    def __init__(self, parser: str) -> None:
        self.features = (Ngrams(parser),)
        self._counts: dict[str, npt.NDArray[np.uint32]] = {}
        self._totals: dict[str, int] = {}

    def fit(self, batches: Iterable[Batch]) -> None:
        """Count the n-grams of the pool, in one pass."""
        self._counts = {kind: np.zeros(COUNTERS, np.uint32) for kind in KINDS}
        for batch in batches:
            for kind, counts in self._counts.items():
                np.add.at(counts, counter_indices(batch.features[kind]), 1)
        self._totals = {kind: int(counts.sum(dtype=np.uint64)) for kind, counts in self._counts.items()}

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), at least 0."""
        assert self._counts, "fit comes before score"
        unigrams, bigrams = (self._surprise(kind, batch.features[kind]) for kind in KINDS)
        return np.asarray((unigrams + bigrams) / 2, np.float32)

    def _surprise(self, kind: str, ngrams: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the sum of -log P over each sample's n-grams, (n,); an n-gram unseen by `fit` gets a count of 1."""
        counts = np.maximum(self._counts[kind][counter_indices(ngrams)], 1)
        rows = np.repeat(np.arange(len(ngrams)), [len(of_sample) for of_sample in ngrams])
        surprise = np.log(max(self._totals[kind], 1) / counts)
        return np.bincount(rows, surprise, minlength=len(ngrams)).astype(np.float64)


def counter_indices(ngrams: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the counter's index of each n-gram of n lists, concatenated; `hash` would differ by process."""
    return np.fromiter(
        (zlib.crc32(ngram.encode()) % COUNTERS for of_sample in ngrams for ngram in of_sample), np.int64
    )
