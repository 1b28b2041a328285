"""Captions that describe a scene truthfully but not completely: an annotator's sentences, as dependency trees."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmark.demo.language import visible_words
from benchmark.demo.language.description_phrases import (
    MOVING,
    SCENERY,
    backdrop,
    comment,
    finite,
    main_ground,
    modified,
    participle,
    perched,
    place_phrase,
    placed,
    ranked,
    relation,
    thing_phrase,
    time_phrase,
)
from benchmark.demo.language.trees import Node, in_order, prep, text_of
from benchmark.demo.sampling import Weighted, pick
from benchmark.demo.world import Scene, Thing

INVERSE = {
    "left of": "right of", "right of": "left of", "above": "below", "below": "above",
    "behind": "in front of", "in front of": "behind",
}  # fmt: skip
FRAMES = ranked(visible_words.FRAMES.split("|"), 1.3, 0.1)
FRAME_ADJECTIVES = ranked(visible_words.FRAME_ADJECTIVES.split(), 0.8, 0.2)
APPEARS = ("appears", "appear"), ("seems", "seem"), ("looks", "look")
MIDDLE = Weighted({"background": 6, "distance": 3, "back": 1.5, "backdrop": 0.5, "scenery": 0.3})


MISSPELT = 0.06  # probability that a word is drawn to be misspelt; short ones stay as they are


@dataclass
class Clause:
    """A clause under construction.

    Args:
        root: its root.
        topic: the noun phrase of the thing that it is about.
        anchor: the word that further phrases depend on: the clause's verb, or its last noun.
    """

    root: Node
    topic: Node
    anchor: Node


def _be(thing: Thing) -> Node:
    return Node("is" if thing.count == 1 else "are", "aux")


def _doing(thing: Thing, rng: np.random.Generator, *, on_top: bool = False) -> tuple[Node, bool]:
    """Return a participle for what the thing does or how it is placed, and whether it is passive."""
    if not thing.action and on_top:
        return perched(thing, rng), False
    if not thing.action and rng.random() < 0.5:
        return placed(thing, rng), True
    return participle(thing, rng), False


def _noun_clause(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "a dog running", or the noun alone."""
    topic = thing_phrase(thing, rng)
    if rng.random() < (0.88 if thing.action else 0.35):
        verb = topic.add("acl", _doing(thing, rng, on_top=on_top)[0])
        return Clause(topic, topic, verb)
    return Clause(topic, topic, topic)


def _progressive(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "a dog is running", or "a car is parked"."""
    verb, passive = _doing(thing, rng, on_top=on_top)
    topic = verb.lead("nsubjpass" if passive else "nsubj", _subject(thing, rng))
    verb.lead("auxpass" if passive else "aux", _be(thing))
    return Clause(verb, topic, verb)


def _finite(thing: Thing, rng: np.random.Generator, _: bool) -> Clause:
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
    return Clause(frame, clause.topic, clause.anchor)


def _shown_by(thing: Thing, rng: np.random.Generator, on_top: bool) -> Clause:
    """Return for example "the image shows a dog running", or "this is a dog running"."""
    clause = _noun_clause(thing, rng, on_top)
    if rng.random() < 0.4:
        root = Node("is", speech="AUX", before=[Node("this", "nsubj", "PRON")])
        root.add("attr", clause.root)
        return Clause(root, clause.topic, clause.anchor)
    root = Node(pick(rng, ("shows", "shows", "has", "depicts", "features", "contains")))
    picture = pick(rng, ("picture", "image", "photo", "drawing", "scene", "cartoon"))
    root.lead("nsubj", modified(picture, [], pick(rng, ("the", "this", "a"))))
    root.add("dobj", clause.root)
    return Clause(root, clause.topic, clause.anchor)


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
    """Return for example "a dog is", to which a place is added."""
    root = Node("is" if thing.count == 1 else "are", speech="AUX")
    topic = root.lead("nsubj", _subject(thing, rng))
    return Clause(root, topic, root)


SHAPES: dict[str, Callable[[Thing, np.random.Generator, bool], Clause]] = {
    "noun": _noun_clause, "progressive": _progressive, "finite": _finite, "there": _there, "framed": _framed,
    "relative": _relative, "shown": _shown_by, "seems": _seems, "somewhere": _is_somewhere,
}  # fmt: skip
_SHAPE = Weighted(
    {
        "noun": 44,
        "progressive": 14,
        "finite": 12,
        "there": 7,
        "framed": 9,
        "relative": 4,
        "shown": 3,
        "seems": 3,
    }
)
_SHAPE_WITH_PLACE = Weighted(
    dict(zip(_SHAPE.names, (44, 14, 12, 7, 9, 4, 3, 3), strict=True)) | {"somewhere": 6}
)
# How the second thing is brought in.
_LINK = Weighted({"relation": 52, "with": 12, "and": 20, "clause": 3, "none": 27})
_LINK_ON = Weighted({"relation": 62, "base": 24, "clause": 2, "none": 12})


def describe(scene: Scene, rng: np.random.Generator) -> Node:
    """Return a caption of `scene` that is true, but often leaves out the place or the second and third thing."""
    clause = _things(scene, rng)
    if len(scene.things) == 3 and rng.random() < 0.25:
        _add_thing(clause, scene.things[2], rng)
    _add_setting(clause, scene, rng)
    _misspell(clause.root, rng)
    return _styled(clause.root, rng)


def _misspell(root: Node, rng: np.random.Generator) -> None:
    """Swap two letters of a random long word, or double one, in a few captions, as hurried annotators do."""
    if rng.random() > MISSPELT:
        return
    node = pick(rng, in_order(root))[0]
    if len(node.word) > 4 and node.word.isalpha():
        at = 1 + int(rng.random() * (len(node.word) - 2))
        middle = (
            node.word[at + 1] + node.word[at]
            if rng.random() < 0.5
            else node.word[at] + node.word[at : at + 2]
        )
        node.word = node.word[:at] + middle + node.word[at + 2 :]


def distinct_descriptions(scene: Scene, rng: np.random.Generator, number: int) -> list[str]:
    """Return the texts of `number` different captions of `scene`."""
    captions: dict[str, None] = {}
    while len(captions) < number:
        captions[text_of(describe(scene, rng))] = None
    return list(captions)


def _things(scene: Scene, rng: np.random.Generator) -> Clause:
    """Return a clause about the scene's first thing, or its first two."""
    first = scene.things[0]
    if len(scene.things) == 1:
        clause = SHAPES[_SHAPE(rng)](first, rng, False)
        if rng.random() < 0.15:
            _add_comment(clause, first, rng)
        return clause
    second, name = scene.things[1], scene.relation
    if name in INVERSE and rng.random() < 0.3:
        first, second, name = second, first, INVERSE[name]
    held = name in ("on", "in")
    link = (_LINK_ON if held else _LINK)(rng)
    if link == "base":
        return _holding(second, first, name, rng)
    shape = (_SHAPE_WITH_PLACE if link == "relation" else _SHAPE)(rng)
    clause = SHAPES[shape](first, rng, held and link == "relation")
    if link == "relation":
        _add_related(clause, second, name, rng)
    elif link == "with":
        _add_companion(clause, (first, second), INVERSE[name], rng)
    elif link == "and":
        _add_thing(clause, second, rng)
    elif link == "clause":
        _add_clause(clause, second, rng)
    elif rng.random() < 0.3:
        _add_comment(clause, first, rng)
    return clause


def _add_comment(clause: Clause, thing: Thing, rng: np.random.Generator) -> None:
    """Add for example "waiting for its owner"."""
    phrase = comment(thing, rng)
    is_noun = clause.anchor is clause.topic
    label = "acl" if is_noun and phrase.label == "advcl" else phrase.label
    clause.anchor.add(label, phrase)


def _add_related(clause: Clause, second: Thing, name: str, rng: np.random.Generator) -> None:
    """Add for example "next to a cat sleeping"."""
    other = thing_phrase(second, rng, detail=0.8)
    phrase = relation(name, other, rng)
    clause.anchor.add(phrase.label, phrase)
    if second.action and rng.random() < 0.12:
        other.add("acl", participle(second, rng))


def _add_companion(clause: Clause, things: tuple[Thing, Thing], name: str, rng: np.random.Generator) -> None:
    """Add for example "with a cat behind it"; the relation `name` is the second thing's to the first."""
    first, second = things
    other = thing_phrase(second, rng, detail=0.8)
    clause.anchor.add("prep", prep("with", other))
    chance = rng.random()
    if chance < 0.35:
        phrase = relation(name, Node("it" if first.count == 1 else "them", speech="PRON"), rng)
        other.add(phrase.label, phrase)
    elif chance < 0.55:
        other.add("advmod", Node(pick(rng, ("nearby", "too", "nearby"))))
    elif second.action:
        other.add("acl", participle(second, rng))


def _add_thing(clause: Clause, thing: Thing, rng: np.random.Generator) -> None:
    """Add for example "and a cat": to the last noun phrase, or as what the sentence's thing is with."""
    other = thing_phrase(thing, rng, detail=0.8)
    if clause.root.speech != "NOUN" and clause.anchor is clause.root:
        clause.anchor.add("prep", prep(pick(rng, ("with", "with", "near")), other))
        return
    target = clause.topic
    if rng.random() < 0.15:
        target.add("punct", Node(","))
    target.add("cc", Node("and"))
    target.add("conj", other)
    clause.anchor = other
    if thing.action and rng.random() < 0.35:
        clause.anchor = other.add("acl", participle(thing, rng))


def _add_clause(clause: Clause, second: Thing, rng: np.random.Generator) -> None:
    """Add for example "while a cat sleeps", or "and a cat is sleeping"."""
    added = (_progressive if rng.random() < 0.5 else _finite)(second, rng, False)
    if clause.root.speech == "VERB" and rng.random() < 0.5:
        clause.root.add("cc", Node("and"))
        clause.root.add("conj", added.root)
    else:
        added.root.before.insert(0, Node(pick(rng, ("while", "as")), "mark"))
        clause.anchor.add("advcl", added.root)
    clause.anchor = added.root


def _holding(base: Thing, held: Thing, name: str, rng: np.random.Generator) -> Clause:
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


def _add_setting(clause: Clause, scene: Scene, rng: np.random.Generator) -> None:
    """Add where it is, and sometimes when and what else is to be seen."""
    place = scene.place
    chance = rng.random()
    if chance < 0.05 and (clause.root.speech != "NOUN" or clause.root is clause.topic):
        phrase = place_phrase(place, rng)
        clause.root.before.insert(0, phrase)
        if rng.random() < 0.7:
            clause.root.before.insert(1, Node(",", "punct"))
    elif chance < 0.56:
        moving = clause.anchor.speech == "VERB" and scene.things[0].action in MOVING
        phrase = place_phrase(place, rng, moving=moving)
        clause.anchor.add(phrase.label, phrase)
    elif chance < 0.6 and clause.root.speech == "NOUN":
        _put_into_scenery(clause, place, rng)
    if rng.random() < 0.05:
        phrase = time_phrase(place, rng)
        clause.anchor.add(phrase.label, phrase)
    if rng.random() < 0.05:
        _add_backdrop(clause, place, rng)


def _put_into_scenery(clause: Clause, place: str, rng: np.random.Generator) -> None:
    """Make the clause what a picture of the place is with, for example "a beach scene with a dog"."""
    if rng.random() < 0.5:
        name = SCENERY[place](rng).split("~")
        view = pick(rng, ("scene", "scene", "setting", "landscape", "view"))
        root = modified(view, [("compound", word) for word in name], "a")
    else:
        root = main_ground(place, rng)
    if rng.random() < 0.75:
        root.add("prep", prep("with", clause.root))
    else:
        root.add("acl", Node("featuring")).add("dobj", clause.root)
    clause.root = root


def _add_backdrop(clause: Clause, place: str, rng: np.random.Generator) -> None:
    """Add for example "with tall buildings in the background", or "under a starry sky"."""
    phrase = backdrop(place, rng)
    if rng.random() < 0.75:
        clause.anchor.add("prep", prep("with", phrase))
        chance = rng.random()
        if chance < 0.6:
            phrase.add("prep", prep("in", modified(MIDDLE(rng), [], "the")))
        elif chance < 0.8:
            phrase.add("advmod", Node("behind"))
    else:
        clause.anchor.add("prep", prep(pick(rng, ("against", "near")), phrase))


def _styled(root: Node, rng: np.random.Generator) -> Node:
    """Vary case and punctuation: usually a capital first letter, often a full stop."""
    style = rng.random()
    if style < 0.25:
        return root
    first = in_order(root)[0][0]
    first.word = first.word[0].upper() + first.word[1:]
    if style < 0.65:
        root.add("punct", Node("."))
    return root
