"""How much the candidate captions of an evaluation set differ from each other, in two ways (AVA-Captions, 6.3.2)."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from downstream.metrics.base import CaptionMetric, Curve, Outcome, Request, Table
from downstream.metrics.metric import ImageId, UnavailableError, library

THRESHOLD_PERCENT = 3  # of words in common, from which on two captions count as the same
MAX_CAPTIONS = 10_000  # 50 million pairs
BLOCK_ROWS = 512
GRAM_LENGTHS = (1, 2, 4)
POSITIONS = 25


class Diversity(CaptionMetric):
    """The share of caption pairs that differ, and the different n-grams per position, mean over positions 1 to 25."""

    names = ("Diversity", *(f"Unique-{length}" for length in GRAM_LENGTHS))

    def compute(self, request: Request) -> Table:
        """Return both kinds of each domain's candidates; a domain of one image has no share."""
        return {domain: _diversity(request, ids) for domain, ids in request.domains.items()}

    def version(self) -> str:
        """Return this project's version."""
        return library("pairsift")


def _diversity(request: Request, images: Sequence[ImageId]) -> dict[str, Outcome]:
    captions = [request.tokens.candidates[image] for image in images]
    share: Outcome
    try:
        share = share_of_differing_pairs(captions)
    except UnavailableError as error:  # one image
        share = str(error)
    curves = unique_ngrams(captions).items()
    return {"Diversity": share} | {
        f"Unique-{length}": Curve(tuple(map(float, counts))) for length, counts in curves
    }


def share_of_differing_pairs(captions: Sequence[str]) -> float:
    """Return the share of pairs of captions that differ (Chang et al. 2017, "Aesthetic Critiques Generation").

    Two captions differ if the ratio of the words that they have in common is below 3%. The ratio here is that of
    distinct words: those in both over those in either. It is 1 for the same words only, while over the shorter
    caption's words "a dog" would be the same as any long caption with both. Captions with 34 words or fewer between
    them differ, by either ratio, when they have no word in common: "a" in both makes them the same.

    Args:
        captions: tokenised, one of each image. Of more than 10,000 a seeded sample is taken, else all pairs count.

    Raises:
        UnavailableError: for fewer than two captions.
    """
    if len(captions) < 2:
        raise UnavailableError("captions differ from each other: one alone has no diversity")
    if len(captions) > MAX_CAPTIONS:
        drawn = np.random.default_rng(0).choice(len(captions), MAX_CAPTIONS, replace=False)
        captions = [captions[index] for index in drawn]
    # Captions of the same words (empty ones too) do not differ, so each set of words is compared once.
    counted = Counter(frozenset(caption.split()) for caption in captions)
    counts = np.array(list(counted.values()), np.int64)
    words = _word_matrix(list(counted))
    sizes = np.array([len(found) for found in counted], np.int32)
    differing = 0
    for start in range(0, len(counts), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        common = (words[rows] @ words.T).toarray()
        union = sizes[rows, None] + sizes - common
        differ = 100 * common < THRESHOLD_PERCENT * union
        differing += int(counts[rows] @ (differ @ counts))
    return differing / (len(captions) * (len(captions) - 1))  # each pair was met from both sides


def _word_matrix(bags: Sequence[frozenset[str]]) -> sparse.csr_array:
    """Return which caption has which word, 0 or 1, shape (captions, words)."""
    columns: dict[str, int] = {}
    indices = [columns.setdefault(word, len(columns)) for bag in bags for word in sorted(bag)]
    starts = np.cumsum([0] + [len(bag) for bag in bags])
    data = np.ones(len(indices), np.int32)
    return sparse.csr_array((data, indices, starts), shape=(len(bags), max(1, len(columns))))


def unique_ngrams(captions: Sequence[str]) -> dict[int, list[int]]:
    """Return how many different n-grams begin at each position (Aneja et al. 2018, "Convolutional Image Captioning").

    It grows with the number of captions: compare models on the same images.

    Args:
        captions: tokenised.

    Returns:
        For n of 1, 2 and 4 the counts at positions 1 to 25 of all captions. An n-gram lies whole in its caption;
        where every caption has ended the count is 0.
    """
    texts = [caption.split() for caption in captions]
    return {
        length: [len(_ngrams_at(texts, position, length)) for position in range(POSITIONS)]
        for length in GRAM_LENGTHS
    }


def _ngrams_at(texts: Sequence[Sequence[str]], position: int, length: int) -> set[tuple[str, ...]]:
    end = position + length
    return {tuple(words[position:end]) for words in texts if len(words) >= end}
