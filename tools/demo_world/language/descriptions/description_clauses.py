"""The shapes of a description's sentence about one thing, as trees."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Thing
from tools.demo_world.language.descriptions import visible_words
from tools.demo_world.language.descriptions.description_phrases import (
    finite,
    participle,
    perched,
    placed,
    thing_phrase,
)
from tools.demo_world.language.descriptions.phrase_reader import modified
from tools.demo_world.language.descriptions.vocabulary_forms import ranked
from tools.demo_world.language.trees import Node, prep

FRAMES = ranked(visible_words.FRAMES.split("|"), 1.3, 0.1)
FRAME_ADJECTIVES = ranked(visible_words.FRAME_ADJECTIVES.split(), 0.8, 0.2)
APPEARS = ("appears", "appear"), ("seems", "seem"), ("looks", "look")


@dataclass
class Clause:
    """A clause under construction.

    Args:
        root: its root.
        topic: the noun phrase of the thing that it is about.
        anchor: the word that further phrases depend on: the clause's verb, or its last noun.
        framed: whether the clause is about a picture that shows the thing.
    """

    root: Node
    topic: Node
    anchor: Node
    framed: bool = False


def _be(thing: Thing) -> Node:
    return Node("is" if thing.count == 1 else "are", "aux")


def _doing(thing: Thing, rng: np.random.Generator, *, on_top: bool = False) -> tuple[Node, bool]:
    """Return a participle for the thing's action or posture, and whether it is passive."""
    if not thing.action and on_top:
        return perched(thing, rng), False
    if not thing.action and rng.random() < 0.5:
        return placed(thing, rng), True
    return participle(thing, rng), False


def _noun_clause(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "a dog running", or only the noun."""
    topic = thing_phrase(thing, rng)
    if rng.random() < (0.88 if thing.action else 0.35):
        verb = topic.add("acl", _doing(thing, rng, on_top=on_top)[0])
        return Clause(topic, topic, verb)
    return Clause(topic, topic, topic)


def progressive(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "a dog is running", or "a car is parked"."""
    verb, passive = _doing(thing, rng, on_top=on_top)
    topic = verb.lead("nsubjpass" if passive else "nsubj", _subject(thing, rng))
    verb.lead("auxpass" if passive else "aux", _be(thing))
    return Clause(verb, topic, verb)


def finite_clause(thing: Thing, rng: np.random.Generator, _: bool) -> Clause:
    """Return for example "a dog runs"."""
    verb = finite(thing, rng)
    topic = verb.lead("nsubj", _subject(thing, rng))
    return Clause(verb, topic, verb)


def _subject(thing: Thing, rng: np.random.Generator) -> Node:
    return thing_phrase(thing, rng, determiner="the" if rng.random() < 0.12 else "a")


def _there(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "there is a dog that is running"."""
    clause = (_relative if rng.random() < 0.25 else _noun_clause)(thing, rng, on_top)
    be = Node("is" if thing.count == 1 else "are", speech="VERB", before=[Node("there", "expl")])
    be.add("attr", clause.root)
    return Clause(be, clause.topic, clause.anchor)


def _framed(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "a picture of a dog running"."""
    clause = _noun_clause(thing, rng, on_top)
    words, link = FRAMES(rng).split()
    *compounds, head = words.split("~")
    lead = [("compound", word) for word in compounds]
    if rng.random() < 0.2:
        adjective = FRAME_ADJECTIVES(rng)
        lead = lead if adjective in compounds else [("amod", adjective), *lead]
    frame = modified(head, lead, "" if rng.random() < 0.1 else "a")
    if link == "of":
        frame.add("prep", prep("of", clause.root))
    else:
        frame.add("acl", Node(link)).add("dobj", clause.root)
    return Clause(frame, clause.topic, clause.anchor, framed=True)


def _shown_by(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "the image shows a dog running", or "this is a dog running"."""
    clause = _noun_clause(thing, rng, on_top)
    if rng.random() < 0.4:
        root = Node("is", speech="AUX", before=[Node("this", "nsubj", "PRON")])
        root.add("attr", clause.root)
        return Clause(root, clause.topic, clause.anchor, framed=True)
    root = Node(pick(rng, ("shows", "shows", "has", "depicts", "features", "contains")))
    picture = pick(rng, ("picture", "image", "photo", "drawing", "scene", "cartoon"))
    root.lead("nsubj", modified(picture, [], pick(rng, ("the", "this", "a"))))
    root.add("dobj", clause.root)
    return Clause(root, clause.topic, clause.anchor, framed=True)


def _relative(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "a dog that is running"."""
    topic = thing_phrase(thing, rng)
    relative = Node(pick(rng, ("that", "that", "which")), speech="PRON")
    if rng.random() < 0.6:
        verb, passive = _doing(thing, rng, on_top=on_top)
        verb.lead("nsubjpass" if passive else "nsubj", relative)
        verb.lead("auxpass" if passive else "aux", _be(thing))
    else:
        verb = finite(thing, rng)
        verb.lead("nsubj", relative)
    topic.add("relcl", verb)
    return Clause(topic, topic, verb)


def _seems(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "a dog seems to be running", or "a dog can be seen running"."""
    verb, passive = _doing(thing, rng, on_top=on_top)
    topic = thing_phrase(thing, rng)
    if rng.random() < 0.5:
        root = Node(pick(rng, APPEARS)[0 if thing.count == 1 else 1])
        root.lead("nsubj", topic)
        verb.lead("aux", Node("to", speech="PART"))
        verb.lead("auxpass" if passive else "aux", Node("be"))
    else:
        root = Node(pick(rng, ("seen", "seen", "shown", "pictured")))
        root.lead("nsubjpass", topic)
        if root.word == "seen" and rng.random() < 0.6:
            root.lead("aux", Node("can"))
            root.lead("auxpass", Node("be"))
        else:
            root.lead("auxpass", _be(thing))
        if passive:
            return Clause(root, topic, root)
    root.add("xcomp", verb)
    return Clause(root, topic, verb)


def _is_somewhere(thing: Thing, rng: np.random.Generator, _: bool) -> Clause:
    """Return for example "a dog is"; a place is added later."""
    root = Node("is" if thing.count == 1 else "are", speech="AUX")
    topic = root.lead("nsubj", _subject(thing, rng))
    return Clause(root, topic, root)


SHAPES: dict[str, Callable[[Thing, np.random.Generator, bool], Clause]] = {
    "noun": _noun_clause, "progressive": progressive, "finite": finite_clause, "there": _there, "framed": _framed,
    "relative": _relative, "shown": _shown_by, "seems": _seems, "somewhere": _is_somewhere,
}  # fmt: skip


def holding(base: Thing, held: Thing, name: str, rng: np.random.Generator) -> Clause:
    """Return for example "a table with a cup on top", or "a basket holding an apple"."""
    topic = thing_phrase(base, rng)
    other = thing_phrase(held, rng, detail=0.9)
    chance = rng.random()
    if chance < 0.2:
        verb = topic.add(
            "acl", Node(pick(rng, ("holding", "containing") if name == "in" else ("holding", "supporting")))
        )
        verb.add("dobj", other)
        return Clause(topic, topic, verb)
    if chance < 0.4:
        root = Node("has" if base.count == 1 else "have")
        root.lead("nsubj", topic)
        root.add("dobj", other)
        clause = Clause(root, topic, root)
    else:
        topic.add("prep", prep("with", other))
        clause = Clause(topic, topic, topic)
    if name == "in":
        phrase = (
            Node("inside", "advmod")
            if rng.random() < 0.5
            else prep(pick(rng, ("in", "inside")), Node("it", speech="PRON"))
        )
    else:
        phrase = prep("on", Node(*pick(rng, (("top", "pobj", "NOUN"), ("it", "pobj", "PRON")))))
    other.add(phrase.label, phrase)
    return clause
