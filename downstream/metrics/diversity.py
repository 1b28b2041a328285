"""Diversity of the candidate captions of an evaluation set, in two ways (AVA-Captions, section 6.3.2)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from downstream.metrics.base import CaptionMetric, Curve, Outcome, Request, Table
from downstream.metrics.metric import ImageId

THRESHOLD_PERCENT = 3  # two captions differ if fewer of their words are in common
MAX_CAPTIONS = 10_000  # 50 million pairs
BLOCK_ROWS = 512
GRAM_LENGTHS = (1, 2, 4)
POSITIONS = 25


class Diversity(CaptionMetric):
    """Fraction of caption pairs that differ, and different n-grams per position, mean over positions 1 to 25."""

    names = ("Diversity", *(f"Unique-{length}" for length in GRAM_LENGTHS))
    reads_tokens = True

    def unit_of(self, name: str) -> str:
        """Return the unit: different n-grams are counted."""
        return "fraction" if name == "Diversity" else "n-grams"

    def compute(self, request: Request) -> Table:
        """Return both kinds of each domain's candidates; with one image the fraction is absent."""
        return {domain: _diversity(request, ids) for domain, ids in request.domains.items()}


def _diversity(request: Request, images: Sequence[ImageId]) -> dict[str, Outcome]:
    captions = [request.tokens.candidates[image] for image in images]
    alone = len(captions) < 2
    differing = "diversity needs at least two captions" if alone else fraction_of_differing_pairs(captions)
    curves = unique_ngrams(captions).items()
    return {"Diversity": differing} | {
        f"Unique-{length}": Curve(tuple(map(float, counts))) for length, counts in curves
    }


def fraction_of_differing_pairs(captions: Sequence[str]) -> float:
    """Return the fraction of pairs of captions that differ (Chang et al. 2017, "Aesthetic Critiques Generation").

    Two captions differ if fewer than 3% of their words are in common: here, distinct words in both over distinct
    words in either. The ratio is 1 for equal sets of words only; over the words of the shorter caption, "a dog" would
    equal any long caption with both words. Captions with fewer than 34 distinct words between them differ only if
    they share no word: "a" in both makes them the same.

    Args:
        captions: two or more, tokenised, one per image. All pairs count, or all pairs of a seeded sample of 10,000.
    """
    if len(captions) > MAX_CAPTIONS:
        drawn = np.random.default_rng(0).choice(len(captions), MAX_CAPTIONS, replace=False)
        captions = [captions[index] for index in drawn]
    # Captions with equal sets of words (also empty sets) do not differ, so each set is compared once.
    word_sets = Counter(frozenset(caption.split()) for caption in captions)
    counts = np.array(list(word_sets.values()), np.int64)
    words = _word_matrix(list(word_sets))
    sizes = np.array([len(word_set) for word_set in word_sets], np.int32)
    differing = 0
    for start in range(0, len(counts), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        common = (words[rows] @ words.T).toarray()
        union = sizes[rows, None] + sizes - common
        differ = 100 * common < THRESHOLD_PERCENT * union
        differing += int(counts[rows] @ (differ @ counts))
    return differing / (len(captions) * (len(captions) - 1))  # each pair was counted from both sides


def _word_matrix(bags: Sequence[frozenset[str]]) -> sparse.csr_array:
    """Return 1 for a word that a caption has, else 0, shape (captions, words)."""
    columns: dict[str, int] = {}
    indices = [columns.setdefault(word, len(columns)) for bag in bags for word in sorted(bag)]
    starts = np.cumsum([0] + [len(bag) for bag in bags])
    data = np.ones(len(indices), np.int32)
    return sparse.csr_array((data, indices, starts), shape=(len(bags), max(1, len(columns))))


def unique_ngrams(captions: Sequence[str]) -> dict[int, list[int]]:
    """Return how many different n-grams start at each position (Aneja et al. 2018, "Convolutional Image Captioning").

    The counts grow with the number of captions: compare models on the same images.

    Args:
        captions: tokenised.

    Returns:
        For n = 1, 2 and 4 the counts at positions 1 to 25. An n-gram must end within its caption; past the end of the
        longest caption the count is 0.
    """
    texts = [caption.split() for caption in captions]
    return {
        length: [
            len({tuple(words[end - length : end]) for words in texts if len(words) >= end})
            for end in range(length, length + POSITIONS)
        ]
        for length in GRAM_LENGTHS
    }
