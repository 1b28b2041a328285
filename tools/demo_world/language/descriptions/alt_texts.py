"""Concrete captions as the web writes them: short noun phrases with few articles, as dependency trees."""

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene, Thing
from tools.demo_world.language.descriptions import visible_words
from tools.demo_world.language.descriptions.description_phrases import (
    participle,
    perched,
    placed,
    relation,
    thing_phrase,
)
from tools.demo_world.language.descriptions.phrase_reader import modified
from tools.demo_world.language.descriptions.place_phrases import MOVING, main_ground, place_phrase
from tools.demo_world.language.descriptions.vocabulary_forms import ranked
from tools.demo_world.language.trees import Node, in_order, prep
from tools.demo_world.sampling import Weighted

# Words after the caption and a mark, after a comma, and before the caption.
SUFFIXES = ranked(visible_words.SUFFIXES.split(), 1.0, 0.1)
ASIDES = ranked(visible_words.ASIDES.split(), 0.8, 0.2)
OPENERS = ranked(visible_words.OPENERS.split(), 0.7, 0.1)
CASE = Weighted({"sentence": 5, "lower": 3.5, "title": 3})
SMALL_WORDS = frozenset(
    {"a", "an", "the", "of", "on", "in", "at", "by", "and", "with", "to", "over", "under", "near", "from"}
)
FIRST_NOUN = 0.8  # probability of a kind's commonest noun: pages that want to be found use plain words
BARE = 0.92  # probability that a noun has no article
DETAIL = 0.85  # factor on the probability of adjectives


def alt_text(scene: Scene, rng: np.random.Generator) -> Node:
    """Return a short caption of the scene, for example "red car on snowy street - stock photo"."""
    root = _things(scene, rng)
    chance = rng.random()
    if chance < 0.1:
        opener = _compound(OPENERS(rng))
        opener.add("prep", prep("of", root))
        return _cased(opener, rng)
    if chance < 0.16:
        root.add("punct", Node(","))
        root.add("dep", _compound(ASIDES(rng)))
    if rng.random() < 0.2:
        mark = pick(rng, ("-", "|", ",", "-", "\u2014", ""))
        if mark:
            root.add("punct", Node(mark))
        root.add("dep", _compound(SUFFIXES(rng)))
    return _cased(root, rng)


def _things(scene: Scene, rng: np.random.Generator) -> Node:
    """Return the scene's first thing with its action, the second thing, and the place."""
    first = scene.things[0]
    topic = thing_phrase(first, rng, detail=DETAIL, bare=rng.random() < BARE, first_noun=FIRST_NOUN)
    anchor = _with_verb(topic, first, rng, on_top=scene.relation in ("on", "in"))
    if len(scene.things) > 1:
        chance = rng.random()
        second = thing_phrase(
            scene.things[1], rng, detail=0.6, bare=rng.random() < BARE, first_noun=FIRST_NOUN
        )
        if chance < 0.4 or (chance < 0.65 and scene.relation in ("on", "in")):
            phrase = relation(scene.relation, second, rng)
            anchor.add(phrase.label, phrase)
        elif chance < 0.6:
            topic.add("cc", Node("and" if rng.random() < 0.8 else "&"))
            anchor = topic.add("conj", second)
        elif chance < 0.65:
            anchor.add("prep", prep("with", second))
    chance = rng.random()
    if chance < 0.2:
        moving = anchor.speech == "VERB" and first.action in MOVING
        phrase = place_phrase(scene.place, rng, moving=moving, bare=rng.random() < 0.9)
        anchor.add(phrase.label, phrase)
    elif chance < 0.42:  # a key word of its own, for example "red car, snowy street"
        topic.add("punct", Node(pick(rng, (",", ",", "-", "|"))))
        ground = main_ground(scene.place, rng)
        ground.before = [node for node in ground.before if node.label != "det"]
        topic.add("dep", ground)
    return topic


def _with_verb(topic: Node, thing: Thing, rng: np.random.Generator, *, on_top: bool) -> Node:
    """Add a participle in most cases if the thing does something; return the head of further phrases."""
    if rng.random() > (0.55 if thing.action else 0.08):
        return topic
    if thing.action:
        return topic.add("acl", participle(thing, rng))
    return topic.add("acl", perched(thing, rng) if on_top else placed(thing, rng))


def _compound(words: str) -> Node:
    *compounds, head = words.split("~")
    return modified(head, [("compound", word) for word in compounds])


def _cased(root: Node, rng: np.random.Generator) -> Node:
    case = CASE(rng)
    nodes = [node for node, _ in in_order(root)]
    if case == "title":
        for node in nodes:
            if node.word not in SMALL_WORDS:
                node.word = node.word[0].upper() + node.word[1:]
    if case != "lower":
        nodes[0].word = nodes[0].word[0].upper() + nodes[0].word[1:]
    if rng.random() < 0.06:
        root.add("punct", Node("."))
    return root
