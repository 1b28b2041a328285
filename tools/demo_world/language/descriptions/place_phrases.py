"""Phrases for a scene's place and time, as trees, from `visible_places`."""

from dataclasses import dataclass

import numpy as np

from pairsift.demo.draws import pick
from tools.demo_world.language.descriptions import visible_places
from tools.demo_world.language.descriptions.phrase_reader import (
    modified,
    modifier,
    read_noun_phrase,
    read_prepositional_phrase,
    relative_position,
)
from tools.demo_world.language.descriptions.vocabulary_forms import ranked, ranked_phrases
from tools.demo_world.language.trees import Node
from tools.demo_world.sampling import Weighted

_MASS_NOUNS = (
    "snow snowfall water sand grass ground ice turf farmland countryside downtown slush seaweed kelp asphalt"
    " pavement wilderness carpeting seawater"
)
MASS_NOUNS = frozenset(_MASS_NOUNS.split())
# Prepositions that only go with actions from place to place, and these actions.
MOTION = frozenset({"along", "down", "through", "across", "into", "over"})
MOVING = frozenset({"rolling", "running", "jumping", "driving", "sailing", "flying", "swimming", "crawling"})


@dataclass(frozen=True)
class Ground:
    """One way to name a place: prepositions, determiners, nouns and adjectives."""

    prepositions: tuple[str, ...]
    determiners: tuple[str, ...]
    nouns: Weighted
    adjectives: Weighted | None


def _ground(text: str) -> Ground:
    lead, _, rest = text.partition(" : ")
    prepositions, determiners = lead.split()
    nouns, _, adjectives = rest.partition("/")
    return Ground(
        tuple(prepositions.split("|")),
        tuple(determiners.replace("-", "").split("|")),
        ranked(nouns.split(), 1.7, 0.15),
        ranked(adjectives.split(), 1.2, 0.2) if adjectives else None,
    )


GROUNDS = {
    place: [_ground(text) for text in texts.split("; ")] for place, texts in visible_places.GROUNDS.items()
}
_GROUND = {place: ranked(map(str, range(len(grounds))), 1.3, 0.0) for place, grounds in GROUNDS.items()}
_BACKDROPS = {place: ranked_phrases(words, 1, 0.3) for place, words in visible_places.BACKDROPS.items()}
_TIMES = {place: ranked_phrases(words, 1, 0.2) for place, words in visible_places.TIMES.items()}
SCENERY = {place: ranked(words.split(), 1, 0.1) for place, words in visible_places.SCENERY.items()}


def ground_noun(ground: Ground, rng: np.random.Generator, *, adjective: float, bare: bool = False) -> Node:
    """Return the noun phrase of a place, with an adjective at probability `adjective`."""
    determiner = "" if bare else pick(rng, ground.determiners)
    head = ground.nouns(rng)
    lead = []
    if ground.adjectives and rng.random() < adjective:
        word = ground.adjectives(rng)
        if word[:4] != head[:4]:
            *compounds, last = word.split("~")
            lead = [(modifier(w), w) for w in (*compounds, last)]
    *compounds, head = head.split("~")
    lead += [("compound", word) for word in compounds]
    if determiner == "a" and (head in MASS_NOUNS or (head.endswith("s") and not head.endswith("ss"))):
        determiner = "some" if rng.random() < 0.3 else "the"
    return modified(head, lead, determiner)


def place_phrase(place: str, rng: np.random.Generator, *, moving: bool = False, bare: bool = False) -> Node:
    """Return a phrase for the scene's place: "on a sandy beach", or "along a beach" if its first thing moves."""
    ground = GROUNDS[place][int(_GROUND[place](rng))]
    preposition = pick(rng, ground.prepositions)
    if preposition in MOTION and not moving:
        ground = GROUNDS[place][0]
        preposition = ground.prepositions[0]
    return relative_position(preposition, ground_noun(ground, rng, adjective=0.3, bare=bare))


def main_ground(place: str, rng: np.random.Generator) -> Node:
    """Return the place itself as a noun phrase, for example "a grassy field"."""
    return ground_noun(GROUNDS[place][0], rng, adjective=0.5)


def backdrop(place: str, rng: np.random.Generator) -> Node:
    """Return something drawn behind the things, for example "tall buildings"."""
    return read_noun_phrase(_BACKDROPS[place](rng).split())


def time_phrase(place: str, rng: np.random.Generator) -> Node:
    """Return a phrase for the scene's apparent time or weather."""
    return read_prepositional_phrase(_TIMES[place](rng).split())
