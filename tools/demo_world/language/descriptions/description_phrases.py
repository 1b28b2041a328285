"""Phrases of descriptions as trees: things with their looks, and verbs with adverbs, from `visible_words`."""

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Thing
from tools.demo_world.language.descriptions import visible_words
from tools.demo_world.language.descriptions.phrase_reader import (
    PARTICLES,
    article,
    modified,
    modifier,
    read_comment,
    read_noun_phrase,
    read_prepositional_phrase,
    relative_position,
)
from tools.demo_world.language.descriptions.vocabulary_forms import NOUNS, VERBS, Verb, ranked, ranked_phrases
from tools.demo_world.language.trees import Node, prep

NO_COLOUR = frozenset({"wooden", "rainbow"})  # patterns that hide the thing's own colour
CLASS = {kind: name for name, kinds in visible_words.CLASSES.items() for kind in kinds.split()}
FIRST_NOUN = 0.62  # probability of a kind's commonest noun
_TAILS = {kind: ranked(map(str, range(1, len(nouns))), 0.5, 0.6) for kind, nouns in NOUNS.items()}
_SHADES = {colour: ranked(words.split(), 2.2, 0.12) for colour, words in visible_words.SHADES.items()}
_PATTERNS = {pattern: ranked(words.split(), 1.8, 0.1) for pattern, words in visible_words.PATTERNS.items()}
_SIZES = {size: ranked(words.split(), 1.5, 0.1) for size, words in visible_words.SIZES.items()}
_NUMBERS = {count: ranked(words.split(), 1.8, 0.1) for count, words in visible_words.NUMBERS.items()}
_ADJECTIVES = {name: ranked(words.split(), 1.0, 0.5) for name, words in visible_words.ADJECTIVES.items()}
_RARE_ADJECTIVE = ranked(visible_words.RARE_ADJECTIVES.split(), 0.0, 0.0)
_RARE_ADVERB = ranked(visible_words.RARE_ADVERBS.split(), 0.0, 0.0)
_COMMENTS = {name: ranked_phrases(words, 0.7, 0.4) for name, words in visible_words.COMMENTS.items()}
_LOOKS = {kind: ranked(words.split(), 0.6, 0.3) for kind, words in visible_words.LOOKS.items()}
_DETAILS = {kind: ranked_phrases(words, 0.8, 0.3) for kind, words in visible_words.DETAILS.items()}
_ACTIONS = {action: ranked(words.split(), 1.7, 0.15) for action, words in visible_words.VERBS.items()}
_ADVERBS = {action: ranked(words.split(), 1, 0.3) for action, words in visible_words.ADVERBS.items()}
_MANNERS = {action: ranked_phrases(words, 1, 0.2) for action, words in visible_words.MANNERS.items()}
_STANDING = {name: ranked(words.split(), 1.5, 0.1) for name, words in visible_words.STANDING.items()}
_PLACED = {name: ranked(words.split(), 1, 0.1) for name, words in visible_words.PLACED.items()}
_PERCHES = {name: ranked(words.split(), 1, 0.1) for name, words in visible_words.PERCHES.items()}
_RELATIONS = {
    relation: ranked(words.split(), 1.5, 0.06) for relation, words in visible_words.RELATIONS.items()
}


def relation(name: str, phrase: Node, rng: np.random.Generator) -> Node:
    """Return a phrase for the scene's relation `name` to the thing of `phrase`."""
    return relative_position(_RELATIONS[name](rng), phrase)


def _look(thing: Thing, rng: np.random.Generator, detail: float) -> list[tuple[str, str]]:
    """Return the labels and words before the noun of `thing`."""
    words: list[str] = []
    kind_class = CLASS[thing.kind]
    if rng.random() < 0.15 * detail:
        words.append((_ADJECTIVES[kind_class] if rng.random() < 0.75 else _RARE_ADJECTIVE)(rng))
    if rng.random() < (0.06 if thing.size == "medium" else 0.35) * detail:
        words.append(_SIZES[thing.size](rng))
    if rng.random() < 0.06 * detail:
        words.append(_LOOKS[thing.kind](rng))
    look = []
    if rng.random() < 0.64 * detail and thing.pattern not in NO_COLOUR:
        look.append(_SHADES[thing.colour](rng))
    if rng.random() < 0.7 * detail and thing.pattern != "plain":
        look.append(_PATTERNS[thing.pattern](rng))
    if rng.random() < 0.3:
        look.reverse()
    return [(modifier(word), word) for word in [*words, *look]]


def thing_phrase(
    thing: Thing,
    rng: np.random.Generator,
    *,
    detail: float = 1.0,
    bare: bool = False,
    determiner: str = "a",
    first_noun: float = FIRST_NOUN,
) -> Node:
    """Return for example "two small striped red balls".

    Args:
        thing: the thing or group.
        rng: random generator.
        detail: factor on the probability of each adjective.
        bare: without an article.
        determiner: the article of a single thing.
        first_noun: probability of the kind's commonest noun.
    """
    lead = _look(thing, rng, detail)
    nouns = NOUNS[thing.kind]
    word = nouns[0] if rng.random() < first_noun else nouns[int(_TAILS[thing.kind](rng))]
    lead += [("compound", compound) for compound in word.compounds]
    if thing.count == 1:
        if rng.random() < 0.02:
            lead.insert(0, ("amod", pick(rng, ("single", "lone", "solitary", "lonely"))))
        node = modified(word.singular, lead, "" if bare else determiner)
    else:
        node = _counted(thing, modified(word.plural, lead), rng, bare=bare)
    if rng.random() < 0.05 * detail:
        node.add("prep", prep("with", detail_phrase(thing, rng, bare=bare)))
    return node


def _counted(thing: Thing, phrase: Node, rng: np.random.Generator, *, bare: bool) -> Node:
    """Put a number before a plural; in "a pair of dogs" the pair is the head."""
    number = _NUMBERS[min(thing.count, 4)](rng)
    flocks = visible_words.FLOCKS.get(thing.kind, "")
    if flocks and thing.count > 2 and rng.random() < 0.15:
        number = f"a_{pick(rng, flocks.split()).partition('~')[0]}_of"
    first, *rest = number.split("_")
    if not rest:
        label = "amod" if first in {"several", "twin", "multiple"} else "det" if first == "some" else "nummod"
        phrase.before.insert(0, Node(first, label))
        return phrase
    if rest == ["few"]:
        phrase.before[:0] = [Node("a", "det"), Node("few", "amod")]
        return phrase
    node = modified(rest[0], [], "" if bare else "a")
    node.add("prep", prep("of", phrase))
    return node


def detail_phrase(thing: Thing, rng: np.random.Generator, *, bare: bool = False) -> Node:
    """Return a part of the thing's drawing, for example "a long tail"."""
    node = read_noun_phrase(_DETAILS[thing.kind](rng).split())
    is_plural = node.word.endswith("s") and not node.word.endswith("ss")
    first = node.before[0] if node.before else node
    if not (bare or is_plural or first.label in ("det", "nummod")):
        node.before.insert(0, Node(article(first.word), "det"))
    return node


def _with_manner(node: Node, thing: Thing, rng: np.random.Generator) -> Node:
    """Add an adverb, or a phrase such as "through the air", to the verb of the thing's action."""
    chance = rng.random()
    if chance < 0.11:
        node.add("advmod", Node((_ADVERBS[thing.action] if rng.random() < 0.75 else _RARE_ADVERB)(rng)))
    elif chance < 0.22:
        node.add("prep", read_prepositional_phrase(_its(_MANNERS[thing.action](rng), thing)))
    return node


def comment(thing: Thing, rng: np.random.Generator) -> Node:
    """Return an annotator's guess about the thing, for example "waiting for its owner", with its label set."""
    return read_comment(_its(_COMMENTS[CLASS[thing.kind]](rng), thing))


def _its(phrase: str, thing: Thing) -> list[str]:
    """Return the words of a phrase, with "their" for "its" if there are several things."""
    return phrase.replace("its ", "their " if thing.count > 1 else "its ").split()


def _verb_node(word: str, verb: Verb) -> Node:
    node = Node(word, speech="VERB")
    if verb.particle:
        node.add("prt" if verb.particle in PARTICLES else "advmod", Node(verb.particle))
    return node


def participle(thing: Thing, rng: np.random.Generator) -> Node:
    """Return a participle for the thing's action, for example "running fast", or for its posture ("standing")."""
    if thing.action:
        verb = VERBS[_ACTIONS[thing.action](rng)]
        return _with_manner(_verb_node(verb.participle, verb), thing, rng)
    verb = VERBS[_STANDING[CLASS[thing.kind]](rng)]
    return _verb_node(verb.participle, verb)


def finite(thing: Thing, rng: np.random.Generator) -> Node:
    """Return a verb for the thing's action in the present tense, for example "runs fast"."""
    if thing.action:
        verb = VERBS[_ACTIONS[thing.action](rng)]
        node = _verb_node(verb.third if thing.count == 1 else verb.present, verb)
        return _with_manner(node, thing, rng)
    verb = VERBS[_STANDING[CLASS[thing.kind]](rng)]
    return _verb_node(verb.third if thing.count == 1 else verb.present, verb)


def placed(thing: Thing, rng: np.random.Generator) -> Node:
    """Return a passive participle for a thing that does nothing, for example "parked"."""
    return Node(_PLACED[CLASS[thing.kind]](rng), speech="VERB")


def perched(thing: Thing, rng: np.random.Generator) -> Node:
    """Return a participle for a thing that does nothing on or in another one, for example "balanced"."""
    return Node(_PERCHES["animal" if CLASS[thing.kind] == "animal" else "any"](rng), speech="VERB")
