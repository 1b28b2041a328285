"""Co-embedded text rate (Lin et al. 2023, Algorithm 1): the fraction of a caption's words written in its image."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from rapidfuzz.distance import Levenshtein

from benchmark.core.batch import Batch
from benchmark.core.ranges import checked
from filters.base import Filter, Scores
from filters.ocr.features import TextRecognition, TextSpotter, legible_lines


def split_words(texts: Sequence[str]) -> set[str]:
    """Return the distinct words of several texts, split at white space as in Algorithm 1."""
    return {word for text in texts for word in text.split()}


def co_embedded_words(caption: str, read: Sequence[str]) -> set[str]:
    """Return the words of `caption` that are among the lines `read` in its image."""
    return split_words([caption]) & split_words(read)


def co_embedded_rate(caption: str, read: Sequence[str]) -> float:
    """Return the fraction of the caption's distinct words that were read in the image; NaN without words."""
    words = split_words([caption])
    return len(co_embedded_words(caption, read)) / len(words) if words else float("nan")


def fuzzy_rate(caption: str, read: Sequence[str]) -> float:
    """Return the mean, over the caption's distinct words, of the similarity to the most similar word that was read.

    Similarity is 1 - Levenshtein distance / longer length, so a misread letter costs little (section 4.1; the paper
    gives no formula). At least `co_embedded_rate`; 0 if nothing was read; NaN for a caption without words.
    """
    words, words_read = split_words([caption]), split_words(read)
    if not words:
        return float("nan")
    max_similarity = (
        max((Levenshtein.normalized_similarity(word, other) for other in words_read), default=0.0)
        for word in sorted(words)
    )
    return sum(max_similarity) / len(words)


MATCHES = {"exact": co_embedded_rate, "fuzzy": fuzzy_rate}


@checked
class Cotr(Filter):
    """Minus the co-embedded text rate: captions that only repeat the text in their image rank last.

    Args:
        ocr: reads the images.
        match: ``exact`` (Algorithm 1) or ``fuzzy`` (Levenshtein).
    """

    needs = frozenset({"text"})

    def __init__(self, ocr: TextSpotter, match: Literal["exact", "fuzzy"] = "exact") -> None:
        self.match = match
        self.ocr = ocr
        self.features = (TextRecognition(ocr),)

    def score(self, batch: Batch) -> Scores:
        """Return -CoTR of shape (n,), from -1 to 0; NaN for a caption without words."""
        rate = MATCHES[self.match]
        lines = zip(batch.texts, batch.features["words"], legible_lines(batch, self.ocr), strict=True)
        rates = [rate(text, [words[number] for number in numbers]) for text, words, numbers in lines]
        return 0.0 - np.array(rates, np.float32)
