"""Noun phrases of the grade-0 captions: determiner, adjectives, compounds, noun, and modifiers after the noun."""

from typing import ClassVar, NamedTuple

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.vocabulary import KINDS
from pairsift.demo.world import Scene
from tools.demo_world.language.sentences.lexicon import COMMON, TOPIC, TOPICS
from tools.demo_world.language.sentences.morphology import article, comparative, plural, quality, superlative
from tools.demo_world.language.titles.names import name_phrase, sample_name
from tools.demo_world.language.trees import POSSESSIVES, Node
from tools.demo_world.sampling import Weighted

_AMOUNTS_WORDS = "many few more other enough most several such less own same fewer countless"
AMOUNTS = frozenset(_AMOUNTS_WORDS.split())
NUMERALS = frozenset(["one", "two", "three", "four", "five", "ten"])
_SOME_OF_MANY = ("these", "many", "most", "some", "more", "other", "two", "three", "our", "my", "their")
_PLURAL = Weighted({"": 12.0, "the": 3, "your": 2} | dict.fromkeys(_SOME_OF_MANY, 1))
_DETERMINERS = {
    "s": Weighted(
        {"a": 9, "the": 5, "your": 3, "my": 2, "every": 1, "this": 1, "another": 1, "our": 1, "one": 1}
    ),
    "m": Weighted({"": 13, "the": 2, "your": 1, "more": 1, "our": 1, "my": 1, "some": 1, "less": 1}),
    "p": _PLURAL,
    "plural": _PLURAL,
}
PRONOUNS = {
    "you": "p",
    "we": "p",
    "I": "i",
    "they": "p",
    "she": "s",
    "he": "s",
    "everyone": "s",
    "somebody": "s",
}


class Phrase(NamedTuple):
    """A phrase that can be a subject: its tree and number, "s" or "p"; "i" for the pronoun "I"."""

    node: Node
    number: str


def first_word(node: Node) -> Node:
    """Return the leftmost node of a phrase."""
    while node.before:
        node = node.before[0]
    return node


def add_determiner(node: Node, word: str) -> None:
    """Put a determiner before a noun phrase; "a" becomes "an" if the next word needs it."""
    if not word:
        return
    label = "det"
    if word in POSSESSIVES:
        label = "poss"
    elif word in NUMERALS:
        label = "nummod"
    elif word in AMOUNTS or word in ("last", "next"):
        label = "amod"
    word = article(first_word(node).word) if word == "a" else word
    node.before.insert(0, Node(word, label))


def coordinate(first: Node, second: Node, word: str = "and") -> Node:
    """Return two phrases joined by a conjunction; the first is the head."""
    first.add("cc", Node(word))
    first.add("conj", second)
    return first


def name_parts(name: Node) -> list[Node]:
    """Return the words of a name as compounds before another noun."""
    return [Node(part.word, "compound", "PROPN") for part in (*name.before, name)]


class NounPhrases:
    """Draws the words of one caption and builds its noun phrases.

    Args:
        scene: the scene of the caption's image.
        rng: random generator.
        room: about how many words the caption should have; optional parts are added while room is left.
        mention: probability that the caption may name the first thing of the scene.
    """

    determiners: ClassVar[dict[str, Weighted]] = _DETERMINERS
    pronouns = Weighted(
        {"you": 6, "we": 5, "I": 6, "they": 3, "she": 2, "he": 2, "everyone": 1, "somebody": 1}
    )
    pronoun_share = 0.5  # fraction of pronouns among subjects that act
    objects: ClassVar[list[str]] = [
        "it", "it", "it", "you", "me", "us", "them", "everything", "something", "anything",
    ]  # fmt: skip
    addressed: ClassVar[list[str]] = ["you", "us", "me", "them", "him", "her"]

    def __init__(self, scene: Scene, rng: np.random.Generator, room: int, mention: float) -> None:
        self.rng, self.random = rng, rng.random
        self.room = room
        self.topic = TOPICS[TOPIC(rng)]
        self.mention = KINDS[scene.things[0].kind].nouns if rng.random() < mention else ()
        self.casual = rng.random() < 0.6

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.random() < probability)

    def more(self, probability: float) -> bool:
        """Return True with a probability while room is left."""
        return self.room > 0 and bool(self.random() < probability)

    def word(self, own: str, common: str, share: float = 0.65) -> str:
        """Return a word of the topic's class `own`, or else of the common class `common`."""
        self.room -= 1
        return self.topic[own](self.rng) if self.random() < share else COMMON[common](self.rng)

    def common(self, name: str) -> str:
        """Return a word of a common class."""
        self.room -= 1
        return COMMON[name](self.rng)

    def after_noun(self, node: Node, number: str, kind: str, depth: int) -> None:
        """Add modifiers after a noun: clauses and prepositional phrases, built by the grammar of clauses."""
        raise NotImplementedError

    def adjective(self, own: str = "like", common: str = "rating") -> Node:
        """Return an adjective, sometimes graded: "truly honest", "cheaper", "most common"."""
        word = self.word(own, common, 0.4)
        if self.more(0.05):
            node = Node(word, "amod", "ADJ")
            node.lead("advmod", Node(self.common("degree")))
            return node
        if self.chance(0.03):
            return self.compared(word, comparative(word), "more")
        return Node(word, "amod", "ADJ")

    def compared(self, word: str, form: str, instead: str) -> Node:
        """Return an adjective in a form such as "cheaper", or after "more" if it lacks such a form."""
        node = Node(form or word, "amod", "ADJ")
        if not form:
            node.lead("advmod", Node(instead))
        return node

    def best(self) -> Node:
        """Return a superlative."""
        word = self.word("like", "rating", 0.35)
        return self.compared(word, superlative(word), "most")

    def headed(self, word: str, number: str, kind: str, depth: int, determiner: str | None = None) -> Phrase:
        """Return a noun phrase around a noun of number "s", "p" or "m" (mass), or "plural" if it has that form."""
        node = Node(plural(word) if number == "p" else word, "dobj", "NOUN")
        if kind == "thing" and self.more(0.08):
            node.before = name_parts(self.name("brand" if self.chance(0.7) else "place"))
        elif kind == "thing" and self.more(0.13):
            other = self.topic["things" if self.random() < 0.6 else "stuff"](self.rng)
            if other != word:
                node.lead("compound", Node(other, speech="NOUN"))
        if self.more(0.3 if depth < 2 else 0.18):
            own, common = ("like", "moody") if kind == "person" else ("like", "rating")
            node.before.insert(0, self.adjective(own, common))
        if determiner is None and self.more(0.07):
            owner = self.name("person" if self.chance(0.6) else "brand")
            owner.label = "poss"
            owner.add("case", Node("'s", glued=True))
            node.before.insert(0, owner)
            determiner = ""
        if determiner is None:
            determiner = self.determiners[number](self.rng)
            if number == "s" and determiner == "the" and self.more(0.2):
                node.before.insert(0, self.best())
        add_determiner(node, determiner)
        if self.more(0.33 if depth < 1 else 0.22 if depth < 3 else 0.03):
            self.after_noun(node, number[0].replace("m", "s"), kind, depth + 1)
        joined = bool(node.after) and node.after[-1].label == "conj"
        return Phrase(node, "p" if joined or number[0] == "p" else "s")

    def thing(self, depth: int = 0) -> Phrase:
        """Return a noun phrase about a thing or an idea."""
        value = self.random()
        if self.mention and value < 0.9:
            single, many = pick(self.rng, self.mention)
            self.mention = ()
            if self.chance(0.4):
                return self.headed(single, "s", "named", depth)
            return self.headed(many, "plural", "named", depth)
        if value < 0.14:
            return Phrase(self.name("brand" if value < 0.06 else "place" if value < 0.1 else "event"), "s")
        if value < 0.3:
            return self.mass(depth)
        return self.headed(self.word("things", "ideas"), "s" if value < 0.7 else "p", "thing", depth)

    def mass(self, depth: int = 0) -> Phrase:
        """Return a noun phrase with a noun that cannot be counted."""
        if self.chance(0.1):
            word = self.common("moody")
            if word.endswith(("y", "ful", "less", "ish", "able", "ous", "ive", "ind")):
                return self.headed(quality(word), "m", "mass", depth)
        return self.headed(self.word("stuff", "stuff"), "m", "mass", depth)

    def person(self, depth: int = 0) -> Phrase:
        """Return a noun phrase about a person, people or an institution."""
        value = self.random()
        if value < 0.24:
            return Phrase(self.name("person"), "s")
        if value < 0.36:
            return self.headed(self.topic["bodies"](self.rng), "s" if value < 0.33 else "p", "body", depth)
        number = "s" if value < 0.6 else "p"
        return self.headed(self.word("people", "people"), number, "person", depth)

    def name(self, category: str) -> Node:
        """Return an invented name."""
        self.room -= 2
        return name_phrase(sample_name(category, self.rng))

    def subject(self, depth: int = 0) -> Phrase:
        """Return a subject that acts: a pronoun or a person."""
        if self.random() < self.pronoun_share:
            word = self.pronouns(self.rng)
            return Phrase(Node(word, speech="PRON"), PRONOUNS[word])
        return self.person(depth)

    def object(self, depth: int = 0) -> Node:
        """Return an object: a pronoun or a phrase about a thing."""
        if self.random() < 0.1:
            return Node(pick(self.rng, self.objects), speech="PRON")
        return self.thing(depth).node

    def whom(self, depth: int = 0) -> Node:
        """Return an object that is a person."""
        if self.random() < 0.35:
            return Node(pick(self.rng, self.addressed), speech="PRON")
        return self.person(depth).node
