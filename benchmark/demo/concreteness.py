"""The planted concreteness of a caption: the share of its content words that name something visible."""

import re
from functools import lru_cache

from benchmark.demo.descriptions import RELATIONS, VERBS
from benchmark.demo.vocabulary import COLOUR_WORDS, COLOURS, KINDS, PATTERN_WORDS, PLACES, SIZE_WORDS

# Words that count neither as visible nor as hidden content.
_FUNCTION_WORDS = (
    "a an and are as at be been by for from had has he her his how i in into is it its my next of off on one or our"
    " out over so some such that the their there this those to up was we were what where while why will with would"
    " you your not no all more most never always every everything photo picture image view close seen see"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
MAX_VISIBLE = (
    4.0  # cap of the summed weights: beyond it, visible words make a caption longer, not more concrete
)
PRIOR = 0.35  # keeps the concreteness below 1, lowest for captions with few visible words
_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=1)
def _visible_weights() -> dict[str, float]:
    """Return the weight, 0 to 1, of each word that names something visible."""
    weights: dict[str, float] = {}

    def add(weight: float, *phrases: str) -> None:
        for word in _WORD.findall(" ".join(phrases).lower()):
            if word not in FUNCTION_WORDS:
                weights[word] = max(weight, weights.get(word, 0.0))

    for place in PLACES.values():
        add(0.8, *place.phrases)
    for verbs in VERBS.values():
        add(0.8, *(form for verb in verbs for form in verb))
    for relation in RELATIONS.values():
        add(0.4, *relation)
    for size in SIZE_WORDS.values():
        add(0.5, *size)
    for pattern in PATTERN_WORDS.values():
        add(0.9, *pattern)
    add(0.4, "two three four pair group")
    add(1.0, *COLOURS, *(word for words in COLOUR_WORDS.values() for word in words))
    for kind in KINDS.values():
        add(1.0, *(noun for pair in kind.nouns for noun in pair))
    return weights


def concreteness(caption: str) -> float:
    """Return the concreteness of a caption, 0 to 1: the share of its content that is visible.

    c = v / (v + h + 0.35), where v is the sum of the weights of the visible words, capped at 4, and h is the number
    of the other content words.
    """
    visible, hidden = 0.0, 0
    for word in _WORD.findall(caption.lower()):
        weight = _visible_weights().get(word)
        if weight is not None:
            visible += weight
        elif word not in FUNCTION_WORDS:
            hidden += 1
    visible = min(visible, MAX_VISIBLE)
    return visible / (visible + hidden + PRIOR)
