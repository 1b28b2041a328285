"""SBA without training: how much of a caption survives an untrained bottleneck.

A latent semantic analysis of the caption replaces SBA's bottleneck. The most similar of its nearest neighbours among
other captions replaces the reconstruction.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

Floats = npt.NDArray[np.float64]
NEIGHBOURS = 15_000  # maximum number of other captions
DIMENSIONS, NEAREST = 128, 5
MAX_LENGTH, MIN_SAME_LENGTH = 25, 10  # in words; in captions of equal length
_BLOCK = 256  # captions per search of neighbours


def untrained_sba(captions: Sequence[str], others: Sequence[str]) -> Floats:
    """Return the similarity, 0 to 1, of each caption to the best of its nearest neighbours, shape (n,).

    Neighbours are searched among the first `NEIGHBOURS` distinct captions of `others` that are not in `captions`.
    Similarity is 1 - Levenshtein distance / longer length, of lower-cased characters.
    """
    asked = set(captions)
    known = [text for text in dict.fromkeys(others) if text not in asked][:NEIGHBOURS]
    known_vectors, vectors = _embed(known, captions)
    lowered = [text.lower() for text in known]
    similarity = np.empty(len(captions))
    for start in range(0, len(captions), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ known_vectors.T
        nearest = np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]
        for row, columns in enumerate(nearest.tolist(), start):
            text = captions[row].lower()
            similarity[row] = max(Levenshtein.normalized_similarity(text, lowered[i]) for i in columns)
    return similarity


def _embed(known: Sequence[str], captions: Sequence[str]) -> tuple[Floats, Floats]:
    """Return unit vectors of both lists, by a latent semantic analysis of the first."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(sublinear_tf=True, token_pattern=r"[^\W_]+")
    analysis = TruncatedSVD(DIMENSIONS, random_state=0)
    vectors = [
        analysis.fit_transform(words.fit_transform(known)),
        analysis.transform(words.transform(captions)),
    ]
    first, second = (v / (np.linalg.norm(v, axis=1, keepdims=True) + 1e-9) for v in vectors)
    return first, second


def standardised_by_length(values: Floats, lengths: Sequence[int]) -> Floats:
    """Return values less the mean, over the standard deviation, of the captions with as many words, shape (n,).

    Lengths of `MAX_LENGTH` words and more are one group; lengths with too few captions share another.
    """
    capped = np.minimum(np.asarray(lengths), MAX_LENGTH)
    rare = [length for length, count in Counter(capped.tolist()).items() if count < MIN_SAME_LENGTH]
    groups = np.where(np.isin(capped, rare), -1, capped)
    standardised = np.zeros(len(values))
    for group in np.unique(groups):
        rows = groups == group
        spread = values[rows].std()
        if spread > 0:
            standardised[rows] = (values[rows] - values[rows].mean()) / spread
    return standardised
