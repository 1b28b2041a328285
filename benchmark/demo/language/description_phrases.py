"""Phrases of descriptions as trees: noun phrases of things, verbs with adverbs, and places, from `visible_words`."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from benchmark.demo.language import visible_places, visible_words
from benchmark.demo.language.trees import Node, prep
from benchmark.demo.sampling import Weighted, pick
from benchmark.demo.vocabulary import KINDS
from benchmark.demo.world import Thing

NO_COLOUR = frozenset({"wooden", "rainbow"})  # patterns that hide the thing's own colour
_PREPOSITIONS = (
    "on in at by of off near with without above over under below beneath underneath behind beside inside"
    " within to from across along through into onto down during past around out for against between among"
    " amongst alongside before outside atop upon"
)
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
DETERMINERS = frozenset({"a", "an", "the", "some", "its", "their", "another", "every", "all", "no", "many"})
_MASS_NOUNS = (
    "snow snowfall water sand grass ground ice turf farmland countryside downtown slush seaweed kelp asphalt"
    " pavement wilderness carpeting seawater"
)
MASS_NOUNS = frozenset(_MASS_NOUNS.split())
MOTION = frozenset({"along", "down", "through", "across", "into", "over"})  # from place to place
MOVING = frozenset({"rolling", "running", "jumping", "driving", "sailing", "flying", "swimming", "crawling"})  # fmt: skip
INFINITIVES = frozenset({"play", "hide", "go", "be"})
ADVERBS = frozenset({"around", "out", "ahead", "somewhere", "upward", "late", "by", "tall"})
COMPLEMENTS = frozenset({"fun", "healthy", "empty", "cozy", "haunted", "content"})
NUMERALS = frozenset({"two", "three", "four", "five", "six", "eight"})
PARTICLES = frozenset({"up", "down", "off", "over"})  # parts of a verb; words such as "along" are adverbs
SPACE_ADVERBS = frozenset(
    {"next", "close", "adjacent", "ahead", "left", "far"}
)  # before a preposition: "next to"
CLASS = {kind: name for name, kinds in visible_words.CLASSES.items() for kind in kinds.split()}
FIRST_NOUN = 0.62  # probability of a kind's commonest noun


def article(word: str) -> str:
    """Return the indefinite article for a phrase that starts with `word`."""
    return "an" if word[0].lower() in "aeiou" else "a"


def plural(word: str) -> str:
    """Return the regular plural of a noun, which is also the third person of a verb."""
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def ranked(words: Iterable[str], head: float, rare: float) -> Weighted:
    """Return a sampler of words by rank: a few frequent ones, and a long tail of rare ones.

    Args:
        words: the words, the commonest first.
        head: exponent of Zipf's law among the frequent words.
        rare: probability to draw from all words evenly instead.
    """
    names = list(dict.fromkeys(words))
    weights = [(rank + 1) ** -head for rank in range(len(names))]
    total = sum(weights)
    return Weighted(
        {name: (1 - rare) * w / total + rare / len(names) for name, w in zip(names, weights, strict=True)}
    )


def _phrases(text: str, head: float, rare: float) -> Weighted:
    return ranked((phrase.strip() for phrase in text.split("|")), head, rare)


@dataclass(frozen=True)
class Noun:
    """A noun: the words of a compound before it, its singular and its plural."""

    compounds: tuple[str, ...]
    singular: str
    plural: str


def _nouns(kind: str) -> list[Noun]:
    nouns = [Noun((), one, many) for one, many in KINDS[kind].nouns]
    for entry in visible_words.NOUNS[kind].split():
        words, _, irregular = entry.partition(":")
        *compounds, head = words.split("~")
        nouns.append(Noun(tuple(compounds), head, irregular or plural(head)))
    return nouns


NOUNS: dict[str, list[Noun]] = {kind: _nouns(kind) for kind in KINDS}


@dataclass(frozen=True)
class Verb:
    """A verb: its plural present, third person and participle, and a particle or adverb after it."""

    present: str
    third: str
    participle: str
    particle: str


def _verb(entry: str) -> Verb:
    words, _, participle = entry.partition("/")
    base, _, particle = words.partition("~")
    stem = base[:-1] if base.endswith("e") and not base.endswith("ee") else base
    return Verb(base, plural(base), participle or f"{stem}ing", particle)


_TAILS = {kind: ranked(map(str, range(1, len(nouns))), 0.5, 0.6) for kind, nouns in NOUNS.items()}
_SHADES = {colour: ranked(words.split(), 2.2, 0.12) for colour, words in visible_words.SHADES.items()}
_PATTERNS = {pattern: ranked(words.split(), 1.8, 0.1) for pattern, words in visible_words.PATTERNS.items()}
_SIZES = {size: ranked(words.split(), 1.5, 0.1) for size, words in visible_words.SIZES.items()}
_NUMBERS = {count: ranked(words.split(), 1.8, 0.1) for count, words in visible_words.NUMBERS.items()}
_ADJECTIVES = {name: ranked(words.split(), 1.0, 0.5) for name, words in visible_words.ADJECTIVES.items()}
_RARE_ADJECTIVE = ranked(visible_words.RARE_ADJECTIVES.split(), 0.0, 0.0)
_RARE_ADVERB = ranked(visible_words.RARE_ADVERBS.split(), 0.0, 0.0)
_COMMENTS = {name: _phrases(words, 0.7, 0.4) for name, words in visible_words.COMMENTS.items()}
_LOOKS = {kind: ranked(words.split(), 0.6, 0.3) for kind, words in visible_words.LOOKS.items()}
_DETAILS = {kind: _phrases(words, 0.8, 0.3) for kind, words in visible_words.DETAILS.items()}
VERBS = {entry: _verb(entry) for words in visible_words.VERBS.values() for entry in words.split()} | {
    entry: _verb(entry) for words in visible_words.STANDING.values() for entry in words.split()
}
_ACTIONS = {action: ranked(words.split(), 1.7, 0.15) for action, words in visible_words.VERBS.items()}
_ADVERBS = {action: ranked(words.split(), 1, 0.3) for action, words in visible_words.ADVERBS.items()}
_MANNERS = {action: _phrases(words, 1, 0.2) for action, words in visible_words.MANNERS.items()}
_STANDING = {name: ranked(words.split(), 1.5, 0.1) for name, words in visible_words.STANDING.items()}
_PLACED = {name: ranked(words.split(), 1, 0.1) for name, words in visible_words.PLACED.items()}
_PERCHES = {name: ranked(words.split(), 1, 0.1) for name, words in visible_words.PERCHES.items()}
_RELATIONS = {
    relation: ranked(words.split(), 1.5, 0.06) for relation, words in visible_words.RELATIONS.items()
}
_BACKDROPS = {place: _phrases(words, 1, 0.3) for place, words in visible_places.BACKDROPS.items()}
_TIMES = {place: _phrases(words, 1, 0.2) for place, words in visible_places.TIMES.items()}
SCENERY = {place: ranked(words.split(), 1, 0.1) for place, words in visible_places.SCENERY.items()}


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


def modified(head: str, lead: list[tuple[str, str]], determiner: str = "") -> Node:
    """Return a noun phrase: `lead` are the (label, word) before the noun; the determiner "a" becomes "an" as needed."""
    node = Node(head, speech="NOUN")
    if determiner:
        if determiner == "a":
            determiner = article(lead[0][1] if lead else head)
        node.lead("det", Node(determiner))
    for label, word in lead:
        node.lead(label, Node(word, speech="NOUN" if label == "compound" else ""))
    return node


def read_noun_phrase(words: list[str]) -> Node:
    """Return the tree of words such as "a row of round windows"; adjectives precede the noun, "~" joins compounds."""
    for number in range(1, len(words)):
        if words[number] in PREPOSITIONS:
            node = read_noun_phrase(words[:number])
            node.add("prep", read_prepositional_phrase(words[number:]))
            return node
    *lead, last = words
    *compounds, head = last.split("~")
    node = Node(head, speech="NOUN")
    for word in lead:
        label = "det" if word in DETERMINERS else "nummod" if word in NUMERALS else "amod"
        node.lead(label, Node(word))
    for word in compounds:
        node.lead("compound", Node(word, speech="NOUN"))
    return node


def read_prepositional_phrase(words: list[str]) -> Node:
    """Return the tree of words such as "in a light wind"; a single adverb, such as "outside", is one too."""
    if len(words) == 1:
        return Node(words[0], "advmod")
    return prep(words[0], read_noun_phrase(words[1:]))


def relative_position(words: str, phrase: Node) -> Node:
    """Return the phrase of a relation, such as "next_to" or "on_the_left_of", before `phrase`; its label is set."""
    first, *rest = words.split("_")
    if not rest:
        return prep(first, phrase)
    if first == "not":
        node = Node(rest[0], "advmod", before=[Node("not", "neg")])
        node.add("prep", prep(rest[1], phrase))
        return node
    if first in SPACE_ADVERBS:
        node = Node(first, "advmod")
        node.add("prep", prep(rest[0], phrase))
        return node
    if rest[-1] != "of" or first in {"right", "directly"}:
        inner = relative_position("_".join(rest), phrase)
        inner.before.insert(0, Node(first, "advmod"))
        return inner
    if len(rest) == 1:  # "inside of"
        node = Node(first, "prep")
        node.add("prep", prep("of", phrase))
        return node
    *inner_words, _ = rest
    node = prep(first, read_noun_phrase(inner_words))
    node.after[0].add("prep", prep("of", phrase))
    return node


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
    return [("amod", word) for word in [*words, *look]]


def thing_phrase(
    thing: Thing, rng: np.random.Generator, *, detail: float = 1.0, bare: bool = False, determiner: str = "a"
) -> Node:
    """Return for example "two small striped red balls".

    Args:
        thing: the thing or group.
        rng: random generator.
        detail: factor on the probability of each adjective.
        bare: without an article.
        determiner: the article of a single thing.
    """
    lead = _look(thing, rng, detail)
    nouns = NOUNS[thing.kind]
    word = nouns[0] if rng.random() < FIRST_NOUN else nouns[int(_TAILS[thing.kind](rng))]
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
    """Return what an annotator believes about the thing, for example "waiting for its owner"; its label is set."""
    return read_comment(_its(_COMMENTS[CLASS[thing.kind]](rng), thing))


def _its(phrase: str, thing: Thing) -> list[str]:
    """Return the words of a phrase, with "their" for "its" if there are several things."""
    return phrase.replace("its ", "their " if thing.count > 1 else "its ").split()


def read_comment(words: list[str]) -> Node:
    """Return the tree of a participle, adjective or preposition with what depends on it."""
    first, *rest = words
    if first in PREPOSITIONS:
        return read_prepositional_phrase(words)
    node = Node(first, "amod" if first == "ready" else "advcl")
    while rest:
        word = rest[0]
        if word == "to" and len(rest) > 1 and rest[1] in INFINITIVES:
            node.add("xcomp", read_infinitive(rest))
            break
        if word in PARTICLES | {"back"} and (
            len(rest) == 1 or rest[1] in PREPOSITIONS | {"students", "nutrients"}
        ):
            node.add("prt" if word in PARTICLES else "advmod", Node(rest.pop(0)))
        elif word in ADVERBS:
            node.add("advmod", Node(rest.pop(0)))
        elif word in PREPOSITIONS:
            node.add("prep", read_prepositional_phrase(rest))
            break
        elif word in COMPLEMENTS or (word in {"very", "quite", "brand"} and len(rest) == 2):
            lead = [("advmod", w) for w in rest[:-1]]
            node.add("acomp", modified(rest[-1], lead)).speech = "ADJ"
            break
        else:
            node.add("dobj", read_noun_phrase(rest))
            break
    return node


def read_infinitive(words: list[str]) -> Node:
    """Return the tree of words such as "to play"."""
    *lead, last = words
    return Node(
        last, "xcomp", before=[Node(lead[0], "aux", "PART"), *(Node(word, "auxpass") for word in lead[1:])]
    )


def _verb_node(word: str, verb: Verb) -> Node:
    node = Node(word, speech="VERB")
    if verb.particle:
        node.add("prt" if verb.particle in PARTICLES else "advmod", Node(verb.particle))
    return node


def participle(thing: Thing, rng: np.random.Generator) -> Node:
    """Return what the thing is doing, for example "running fast", or how it stands there, for example "standing"."""
    if thing.action:
        verb = VERBS[_ACTIONS[thing.action](rng)]
        return _with_manner(_verb_node(verb.participle, verb), thing, rng)
    verb = VERBS[_STANDING[CLASS[thing.kind]](rng)]
    return _verb_node(verb.participle, verb)


def finite(thing: Thing, rng: np.random.Generator) -> Node:
    """Return what the thing does in the present tense, for example "runs fast"."""
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


def ground_noun(ground: Ground, rng: np.random.Generator, *, adjective: float, bare: bool = False) -> Node:
    """Return the noun phrase of a place, with an adjective at probability `adjective`."""
    determiner = "" if bare else pick(rng, ground.determiners)
    head = ground.nouns(rng)
    lead = []
    if ground.adjectives and rng.random() < adjective:
        word = ground.adjectives(rng)
        if word[:4] != head[:4]:
            *compounds, last = word.split("~")
            lead = [("amod", w) for w in (*compounds, last)]
    *compounds, head = head.split("~")
    lead += [("compound", word) for word in compounds]
    if determiner == "a" and (head in MASS_NOUNS or (head.endswith("s") and not head.endswith("ss"))):
        determiner = "some" if rng.random() < 0.3 else "the"
    return modified(head, lead, determiner)


def place_phrase(place: str, rng: np.random.Generator, *, moving: bool = False, bare: bool = False) -> Node:
    """Return a phrase for where the scene is, for example "on a sandy beach", or "along a beach" if it moves."""
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
    """Return a phrase for when or in what weather the scene seems to be."""
    return read_prepositional_phrase(_TIMES[place](rng).split())
