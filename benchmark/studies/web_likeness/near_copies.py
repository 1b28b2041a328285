"""Captions that nearly equal another one."""

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

SIMILARITY = 0.6  # of words, 1 - edit distance / longer length; a near copy has more
_ROUNDING = 1e-6  # of similarities in single precision
_BLOCK = 256  # captions that are compared with others at a time


def near_copies(token_lists: Sequence[Sequence[str]]) -> float:
    """Return the share of captions whose words are more than 60% similar to those of another.

    Captions are compared with those of at least .6 of their length only: no others can be as similar.
    """
    numbers: dict[str, int] = {}
    # Words become characters, so that edits of words are edits of characters.
    coded = [
        "".join(chr(1 + numbers.setdefault(word, len(numbers))) for word in words) for words in token_lists
    ]
    coded.sort(key=len)
    lengths = np.array([len(text) for text in coded])
    near = np.zeros(len(coded), bool)
    for start in range(0, len(coded), _BLOCK):
        block = coded[start : start + _BLOCK]
        # Only earlier and so shorter captions, from the first that is long enough for the shortest of the block.
        first = int(np.searchsorted(lengths, np.ceil(SIMILARITY * len(block[0]) - 1e-9)))
        others = coded[first : start + len(block)]
        similarity = cdist(block, others, scorer=Levenshtein.normalized_similarity, score_cutoff=SIMILARITY)
        rows, columns = np.nonzero(similarity > SIMILARITY + _ROUNDING)
        pairs = columns + first < rows + start
        near[rows[pairs] + start] = True
        near[columns[pairs] + first] = True
    return float(near.mean())
