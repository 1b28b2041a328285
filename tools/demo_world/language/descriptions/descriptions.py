"""Captions that describe a scene truthfully but incompletely, like an annotator's sentences; as dependency trees."""

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene, Thing
from tools.demo_world.language.descriptions.description_clauses import (
    SHAPES,
    Clause,
    finite_clause,
    holding,
    progressive,
)
from tools.demo_world.language.descriptions.description_phrases import (
    comment,
    participle,
    relation,
    thing_phrase,
)
from tools.demo_world.language.descriptions.phrase_reader import modified
from tools.demo_world.language.descriptions.place_phrases import (
    MOVING,
    SCENERY,
    backdrop,
    main_ground,
    place_phrase,
    time_phrase,
)
from tools.demo_world.language.trees import Node, in_order, prep, text_of
from tools.demo_world.sampling import Weighted

INVERSE = {
    "left of": "right of", "right of": "left of", "above": "below", "below": "above",
    "behind": "in front of", "in front of": "behind",
}  # fmt: skip
MIDDLE = Weighted({"background": 6, "distance": 3, "back": 1.5, "backdrop": 0.5, "scenery": 0.3})
MISSPELT = 0.06  # probability of choosing a word to misspell; a short word stays as it is
_SHAPE_WEIGHTS: dict[str, float] = {
    "noun": 50, "progressive": 14, "finite": 12, "there": 7, "framed": 9, "relative": 4, "shown": 3, "seems": 3,
}  # fmt: skip
_SHAPE = Weighted(_SHAPE_WEIGHTS)
_SHAPE_WITH_RELATION = Weighted(_SHAPE_WEIGHTS | {"somewhere": 6})
# How the second thing is mentioned.
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
        letter, following = node.word[at], node.word[at + 1]
        wrong = following + letter if rng.random() < 0.5 else letter + letter + following
        node.word = node.word[:at] + wrong + node.word[at + 2 :]


def distinct_descriptions(scene: Scene, rng: np.random.Generator, number: int, min_words: int) -> list[str]:
    """Return the texts of `number` different captions of `scene` with at least `min_words` words."""
    captions: dict[str, None] = {}
    while len(captions) < number:
        text = text_of(describe(scene, rng))
        if len(text.split()) >= min_words:
            captions[text] = None
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
        return holding(second, first, name, rng)
    shape = (_SHAPE_WITH_RELATION if link == "relation" else _SHAPE)(rng)
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
    labels = {"advcl": "acl"} if clause.anchor is clause.topic else {"amod": "acomp"}
    clause.anchor.add(labels.get(phrase.label, phrase.label), phrase)


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
    """Add for example "and a cat", or after a verb "with a cat"."""
    other = thing_phrase(thing, rng, detail=0.8)
    if clause.topic.label in ("nsubj", "nsubjpass"):
        clause.anchor.add("prep", prep(pick(rng, ("with", "with", "near")), other))
        return
    if rng.random() < 0.15:
        clause.topic.add("punct", Node(","))
    clause.topic.add("cc", Node("and"))
    clause.topic.add("conj", other)
    clause.anchor = other
    if thing.action and rng.random() < 0.35:
        clause.anchor = other.add("acl", participle(thing, rng))


def _add_clause(clause: Clause, second: Thing, rng: np.random.Generator) -> None:
    """Add for example "while a cat sleeps", or "and a cat is sleeping"."""
    added = (progressive if rng.random() < 0.5 else finite_clause)(second, rng, False)
    if clause.root.speech == "VERB" and rng.random() < 0.5:
        clause.root.add("cc", Node("and"))
        clause.root.add("conj", added.root)
    else:
        added.root.before.insert(0, Node(pick(rng, ("while", "as")), "mark"))
        clause.anchor.add("advcl", added.root)
    clause.anchor = added.root


def _add_setting(clause: Clause, scene: Scene, rng: np.random.Generator) -> None:
    """Add the place, and sometimes the time and the background."""
    place = scene.place
    chance = rng.random()
    if chance < 0.05 and not clause.framed:
        phrase = place_phrase(place, rng)
        clause.root.before.insert(0, phrase)
        if rng.random() < 0.7:
            clause.root.before.insert(1, Node(",", "punct"))
    elif chance < 0.56:
        moving = clause.anchor.speech == "VERB" and scene.things[0].action in MOVING
        phrase = place_phrase(place, rng, moving=moving)
        clause.anchor.add(phrase.label, phrase)
    elif chance < 0.6 and clause.root is clause.topic:
        _put_into_scenery(clause, place, rng)
    if rng.random() < 0.05:
        phrase = time_phrase(place, rng)
        clause.anchor.add(phrase.label, phrase)
    if rng.random() < 0.05:
        _add_backdrop(clause, place, rng)


def _put_into_scenery(clause: Clause, place: str, rng: np.random.Generator) -> None:
    """Put the clause into a picture of the place, for example "a beach scene with a dog"."""
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
    """Add for example "with tall buildings in the background", or "against a clear sky"."""
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
