"""Informativeness: captions with nouns and word pairs that are rare in the pool (Ghosal et al. 2019, section 3)."""

import zlib
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.cached_files import intact
from benchmark.core.mapped_files import MappedArray, save_array
from filters.base import Scores
from filters.embeddings.corpus import Corpus, CorpusFilter, PieceWork
from filters.text.ngrams import Ngrams

KINDS = ("unigrams", "bigrams")
# Counters per kind of n-gram, whatever the size of the pool. N-grams with the same hash share a counter: with
# 0.7 times as many distinct n-grams as counters, scores are 2.5% too low but rank the same (Spearman 0.9997).
COUNTERS = 1 << 25


class Informativeness(CorpusFilter):
    """Equation 2: minus half the sum of the logarithms of the probabilities of a caption's unigrams and bigrams.

    A probability is the n-gram's fraction of all unigrams, or of all bigrams, of the pool's captions (equation 1).
    Logarithms are natural: in figure 2 a single frequent noun scores 1.85. A caption without n-grams scores 0.

    Args:
        parser: name of an installed spaCy pipeline for English, or the path of one.
    """

    needs = frozenset()
    batch_size: ClassVar[int] = 2048

    def __init__(self, parser: str) -> None:
        self.features = (Ngrams(parser),)
        self._counts: MappedArray | None = None  # as `_CountNgrams` returns it, of the whole corpus
        self._totals: dict[str, int] = {}

    def fit_corpus(self, corpus: Corpus) -> None:
        """Count the n-grams of each shard, and add the counts up."""
        path = corpus.folder / "counts.npy"
        if not intact(path):
            save_array(path, _sum(corpus.map("ngrams", _CountNgrams(corpus.shards), len(corpus.shards))))
        self._counts = MappedArray(path)
        counters, counts = self._counts.values
        for number, kind in enumerate(KINDS):
            first, end = np.searchsorted(counters, [number * COUNTERS, (number + 1) * COUNTERS])
            self._totals[kind] = int(counts[first:end].sum(dtype=np.uint64))

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), at least 0."""
        unigrams, bigrams = (self._surprise(kind, batch.features[kind]) for kind in KINDS)
        return np.asarray((unigrams + bigrams) / 2, np.float32)

    def _surprise(self, kind: str, ngrams: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the sum of -log P over each sample's n-grams, (n,); an n-gram unseen by the fit has a count of 1."""
        assert self._counts is not None, "fit comes before score"
        counters, counts = self._counts.values
        distinct, inverse = np.unique(_counters_of(kind, ngrams), return_inverse=True)
        positions = np.searchsorted(counters, distinct)
        seen = positions < len(counters)
        seen[seen] = counters[positions[seen]] == distinct[seen]
        of_distinct = np.ones(len(distinct), np.uint32)
        of_distinct[seen] = counts[positions[seen]]
        surprise = np.log(max(self._totals[kind], 1) / of_distinct)
        rows = np.repeat(np.arange(len(ngrams)), [len(of_sample) for of_sample in ngrams])
        return np.bincount(rows, surprise[inverse], minlength=len(ngrams)).astype(np.float64)


class _CountNgrams(PieceWork):
    """The counters of the n-grams of each shard in ascending order, and their counts above 0, shape (2, m)."""

    def __init__(self, shards: Sequence[Iterable[Batch]]) -> None:
        self._shards = shards

    def __call__(self, piece: int, /) -> npt.NDArray[np.uint32]:
        """Count the n-grams of one shard."""
        of_batches = [np.empty((2, 0), np.int64)]
        for batch in self._shards[piece]:  # counted one by one: all n-grams of a shard may take gigabytes
            counters = np.concatenate([_counters_of(kind, batch.features[kind]) for kind in KINDS])
            of_batches.append(np.stack(np.unique(counters, return_counts=True)))
        counters, counts = np.concatenate(of_batches, axis=1)
        distinct, inverse = np.unique(counters, return_inverse=True)
        return np.stack([distinct, np.bincount(inverse, counts, len(distinct))]).astype(np.uint32)


def _sum(parts: Sequence[MappedArray]) -> npt.NDArray[np.uint32]:
    """Add up what `_CountNgrams` returns of all shards."""
    total = np.zeros(len(KINDS) * COUNTERS, np.uint32)
    for part in parts:
        counters, counts = part.values
        total[counters] += counts  # each counter occurs once in a part
    rows = np.flatnonzero(total)
    return np.stack([rows.astype(np.uint32), total[rows]])


def _counters_of(kind: str, ngrams: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Return the counter of each n-gram of n lists, concatenated; `hash` would differ by process."""
    hashes = map(zlib.crc32, map(str.encode, chain.from_iterable(ngrams)))
    return np.fromiter(hashes, np.uint32) % np.uint32(COUNTERS) + np.uint32(KINDS.index(kind) * COUNTERS)
