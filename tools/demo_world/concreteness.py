"""The planted concreteness of a caption: the share of its content words that name something visible."""

import re
from functools import lru_cache

from pairsift.demo.vocabulary import COLOURS
from tools.demo_world.language.descriptions import visible_places, visible_words
from tools.demo_world.language.descriptions.vocabulary_forms import NOUNS, VERBS
from tools.demo_world.words import PATTERN_WORDS

# Words that count neither as visible nor as hidden content.
_FUNCTION_WORDS = (
    "a about after an and are as at be been by can each for from had has have he her his how i in into is it"
    " its just my next of off on one or our out over right so some such than that the their them there this"
    " those to too up us very was we were what where which while why will with within would you your not no"
    " all more most never always every everything another appear appears depict depicts feature features"
    " featuring look looks looking seem seems seen see close contains contain before against during among"
    " amongst between through"
)
# Words of descriptions that other captions use in another sense; they count as hidden content everywhere.
_AMBIGUOUS = (
    "like nothing ten joy hard great new family living life speed safety home nature vacation party school public day"
    " stay stays staying balance balances still world love record time mean"
)
AMBIGUOUS = frozenset(_AMBIGUOUS.split())
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split()) | set(visible_words.FRAME_WORDS.split())
MAX_VISIBLE = (
    4.0  # cap of the summed weights: beyond it, visible words make a caption longer, not more concrete
)
PRIOR = 0.35  # keeps the concreteness below 1, and lower for captions with few visible words
_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=1)
def visible_weights() -> dict[str, float]:
    """Return the weight, 0 to 1, of each word that names something visible."""
    weights: dict[str, float] = {}
    impressions = FUNCTION_WORDS | set(visible_words.IMPRESSIONS.split())

    def add(weight: float, *phrases: str, but: frozenset[str] = FUNCTION_WORDS) -> None:
        for word in _WORD.findall(" ".join(phrases).lower().replace("_", " ")):
            if word not in but and word not in AMBIGUOUS:
                weights[word] = max(weight, weights.get(word, 0.0))

    add(0.4, *visible_words.ADVERBS.values(), *visible_places.TIMES.values())
    add(0.4, *visible_words.ADJECTIVES.values(), but=impressions)
    add(0.4, *visible_words.RELATIONS.values(), *visible_words.NUMBERS.values())
    add(0.4, *visible_words.FLOCKS.values())
    add(0.4, *visible_words.MANNERS.values(), "single lone solitary distance nearby")
    add(0.5, *visible_words.SIZES.values())
    add(0.6, *visible_words.LOOKS.values(), but=impressions)
    add(0.6, *visible_words.PLACED.values(), *visible_words.PERCHES.values())
    add(
        0.8,
        *visible_words.DETAILS.values(),
        *visible_places.BACKDROPS.values(),
        *visible_places.GROUNDS.values(),
    )
    add(0.8, *visible_places.SCENERY.values(), *visible_words.VERBS)
    add(0.8, *(f"{verb.present} {verb.third} {verb.participle}" for verb in VERBS.values()))
    add(0.9, *(word for words in PATTERN_WORDS.values() for word in words), *visible_words.PATTERNS.values())
    add(1.0, *COLOURS, *visible_words.SHADES.values())
    for nouns in NOUNS.values():
        add(1.0, *(" ".join((*noun.compounds, noun.singular, noun.plural)) for noun in nouns))
    return weights


def concreteness(caption: str) -> float:
    """Return the concreteness of a caption, 0 to 1: the visible fraction of its content.

    c = v / (v + h + 0.35). v is the sum of the weights of the visible words, capped at 4; h is the number of other
    content words.
    """
    weights = visible_weights()
    visible, hidden = 0.0, 0
    for word in _WORD.findall(caption.lower()):
        weight = weights.get(word)
        if weight is not None:
            visible += weight
        elif word not in FUNCTION_WORDS:
            hidden += 1
    visible = min(visible, MAX_VISIBLE)
    return visible / (visible + hidden + PRIOR)
