"""Invented names of people, places, brands, models and events: Zipf-distributed, each with a fixed look."""

from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.vocabulary import COLOURS, IN_KINDS, PLACES
from tools.demo_world.language.titles.word_lists import read_word_lists
from tools.demo_world.language.trees import Node, noun
from tools.demo_world.sampling import Weighted, zipf
from tools.demo_world.scenes import Look

CATEGORIES = ("person", "place", "brand", "model", "event")
# Number of names per category, and the shift of Zipf's law for names that are mentioned in passing: the first name is
# 2% of its category, like "New York" among the places in LAION's captions.
RANKS = 20_000
SHIFT = 5
# Categories of the name that a caption is about, for each kind of caption with a name.
NAME_CATEGORIES: dict[str, tuple[str, ...]] = {
    "title": ("person", "place"),
    "product": ("brand",),
    "event": ("event",),
    "person": ("person",),
    "web_string": ("brand", "place"),
    "parrot": ("person", "person", "event", "brand", "place"),
}


@dataclass(frozen=True)
class Name:
    """The words of a name, for example ("Ilva", "Dorn"), and the look of the images for it."""

    words: tuple[str, ...]
    look: Look
    category: str

    @property
    def text(self) -> str:
        """The words with spaces between them."""
        return " ".join(self.words)


@dataclass(frozen=True)
class Sounds:
    """The syllables of one culture's names: a word is a start, sometimes a middle, and an ending.

    Starts end in a consonant, or middles and endings are whole syllables.
    """

    starts: list[str]
    middles: list[str]
    given: list[str]
    family: list[str]
    towns: list[str]


_LISTS = read_word_lists("name_words.txt")
SOUNDS = [
    Sounds(*(_LISTS[f"{culture}.{part}"] for part in ("starts", "middles", "given", "family", "towns")))
    for culture in (
        "nordic", "slavic", "italian", "spanish", "celtic", "japanese", "indian", "african", "turkish", "german",
        "french", "pacific",
    )
]  # fmt: skip
_VOWELS = frozenset("aeiouy")
_LETTERS = "ABCDEFGHJKLMNPRSTVWXZ"
_KIND = Weighted(zipf(list(IN_KINDS)))
_COLOUR = Weighted(zipf(list(COLOURS)))
_PLACES = {
    kind: [place for place in PLACES if traits.home in PLACES[place].homes]
    for kind, traits in IN_KINDS.items()
}


def name_phrase(name: Name) -> Node:
    """Return a name as a noun phrase."""
    node = noun(name.words[-1], compounds=name.words[:-1], proper=True)
    node.entity = name.category
    return node


def sample_name(category: str, rng: np.random.Generator, shift: int = SHIFT) -> Name:
    """Return a name of `category`, one of `CATEGORIES`, with Zipf-like frequencies (`zipf_index`)."""
    return name_of_rank(category, zipf_index(rng, RANKS, shift))


def zipf_index(rng: np.random.Generator, size: int, shift: int = SHIFT) -> int:
    """Return an index below `size` with probability about proportional to 1 / (index + shift)."""
    return min(int(shift * (1 + size / shift) ** float(rng.random())) - shift, size - 1)


@lru_cache(maxsize=100_000)
def name_of_rank(category: str, rank: int) -> Name:
    """Return the name of `category` at `rank`, from 0 on; its words and its look never change."""
    words = _WORDS[category](np.random.default_rng((CATEGORIES.index(category), rank)))
    return Name(words, _look(category, words), category)


def _look(category: str, words: tuple[str, ...]) -> Look:
    """Return the look of a name. It depends only on the words: namesakes of another rank look the same."""
    rng = np.random.default_rng(crc32(" ".join(words).encode()))
    spoken = [word.lower() for word in words]
    kind = next((word for word in spoken if word in IN_KINDS), _KIND(rng))
    place = next((word for word in spoken if word in PLACES), "") or pick(rng, _PLACES[kind])
    if category == "place":
        return Look(place=place)
    if category == "brand":
        return Look(kind=kind)
    return Look(kind=kind, place=place) if category == "event" else Look(kind=kind, colour=_COLOUR(rng))


def _word(rng: np.random.Generator, sounds: Sounds, endings: list[str]) -> str:
    start, ending = pick(rng, sounds.starts), pick(rng, endings)
    clash = ending[0] not in _VOWELS and (len(start) < 3 or not _VOWELS & set(start[-2:]))
    middle = pick(rng, sounds.middles) if clash or rng.random() < 0.3 else ""
    return start + middle + ending


def _given(rng: np.random.Generator, sounds: Sounds) -> str:
    """Return a given name; the first syllables of a list are the most frequent, so that people share given names."""
    start = sounds.starts[zipf_index(rng, len(sounds.starts))]
    middle = pick(rng, sounds.middles) if len(start) < 3 and rng.random() < 0.6 else ""
    return start + middle + sounds.given[zipf_index(rng, len(sounds.given))]


def _person(rng: np.random.Generator) -> tuple[str, ...]:
    sounds = pick(rng, SOUNDS)
    given, style = _given(rng, sounds), rng.random()
    family = _word(rng, sounds, sounds.family)
    if style < 0.1:
        return given, pick(rng, _LISTS["ordinary_surnames"])
    if style < 0.15:
        return given, f"{pick(rng, _LETTERS)}.", family
    if style < 0.19:
        return given, pick(rng, _LISTS["surname_particles"]), family
    if style < 0.22:
        return given, f"{family}-{_word(rng, sounds, sounds.family)}"
    if style < 0.26:
        return (given,)
    return given, family


def _town(rng: np.random.Generator) -> str:
    sounds = pick(rng, SOUNDS)
    return _word(rng, sounds, sounds.towns)


def _place(rng: np.random.Generator) -> tuple[str, ...]:
    style, town = rng.random(), _town(rng)
    if style < 0.15:
        return _LISTS["place_firsts"][zipf_index(rng, len(_LISTS["place_firsts"]))], town
    if style < 0.4:
        return town, _LISTS["place_lasts"][zipf_index(rng, len(_LISTS["place_lasts"]))]
    if style < 0.44:
        return pick(rng, _LISTS["brand_words"]), pick(rng, _LISTS["place_lasts"])
    return (town,)


def _brand_word(rng: np.random.Generator) -> str:
    sounds, style = pick(rng, SOUNDS), rng.random()
    if style < 0.12:
        return "".join(pick(rng, _LETTERS) for _ in range(2 + int(rng.random() * 3)))
    if style < 0.3:
        return pick(rng, _LISTS["brand_words"]) + pick(rng, _LISTS["brand_endings"])
    if style < 0.45:
        return _word(rng, sounds, sounds.family)
    return _word(rng, sounds, _LISTS["brand_endings"])


def _brand(rng: np.random.Generator) -> tuple[str, ...]:
    word, style = _brand_word(rng), rng.random()
    if style < 0.12:
        return word, pick(rng, _LISTS["brand_lasts"])
    if style < 0.17:
        return pick(rng, _LISTS["brand_words"]), pick(rng, _LISTS["brand_words"])
    if style < 0.21:
        return word, "&", _brand_word(rng)
    return (word,)


def _model(rng: np.random.Generator) -> tuple[str, ...]:
    letters = "".join(pick(rng, _LETTERS) for _ in range(1 + int(rng.random() * 3)))
    number = int(10 ** (1 + 3 * rng.random()))
    number, style = number - number % 10 if rng.random() < 0.4 else number, rng.random()
    if style < 0.35:
        return (f"{letters}{number}",)
    if style < 0.5:
        return (f"{letters}-{number}{pick(rng, _LETTERS)}",)
    if style < 0.6:
        return letters, str(number)
    if style < 0.75:
        return _brand_word(rng), pick(rng, _LISTS["model_words"])
    if style < 0.85:
        return pick(rng, _LISTS["model_words"]), str(1 + int(rng.random() * 12))
    return (_brand_word(rng),)


def _event(rng: np.random.Generator) -> tuple[str, ...]:
    style, town = rng.random(), _town(rng)
    topic = _KIND(rng).title() if rng.random() < 0.08 else pick(rng, _LISTS["event_topics"])
    last = _LISTS["event_lasts"][zipf_index(rng, len(_LISTS["event_lasts"]))]
    if style < 0.55:
        return town, topic, last
    if style < 0.7:
        return _brand_word(rng), last
    if style < 0.8:
        return town, last
    if style < 0.9:
        return _brand_word(rng), town, topic, last
    return topic, last, town


_WORDS = {"person": _person, "place": _place, "brand": _brand, "model": _model, "event": _event}
