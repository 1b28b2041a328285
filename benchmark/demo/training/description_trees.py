"""Reads the dependency tree of a descriptive caption off its word order, which the grammar makes unambiguous."""

from benchmark.demo.language.trees import Node
from benchmark.demo.training.dependency_trees import (
    ADVERBS,
    CONTAINER_NOUNS,
    FINITE,
    PARTICIPLES,
    PREPOSITIONS,
    noun_phrase,
    prepositional_phrase,
)
from benchmark.demo.vocabulary import KINDS

NOUNS = {noun for kind in KINDS.values() for pair in kind.nouns for noun in pair} | CONTAINER_NOUNS - {"up"} | {
    "street", "road", "field", "grass", "beach", "sea", "water", "lake", "room", "carpet", "kitchen", "floor",
    "forest", "woods", "snow", "hill", "night", "sky", "desert", "dune", "mountains", "air", "wind", "side",
    "left", "right",
    "front", "top", "bottom",
}  # fmt: skip
PHRASE_STARTS = {"a", "an", "the", "one", "two", "three", "four"}
COMPOUND_HEADS = {"night", "sky", "dune", "floor"}  # nouns that may follow a noun: "the kitchen floor"


class DescriptionReader:
    """Reads a caption of `descriptions.describe` word by word and attaches each phrase to its head.

    A participle modifies the noun before it. A preposition attaches to the verb of its clause, or to the clause's
    noun if there is no verb. "and" joins a noun to the first noun of the caption, after a finite verb to the nearest.
    """

    def __init__(self, words: list[str]) -> None:
        self.words, self.index = words, 0
        self.root: Node | None = None
        self.before_root: list[Node] = []  # dependents of the root that come before it
        self.main: Node | None = None  # the first noun of the caption that is not a container
        self.topic: Node | None = None  # the noun of the current clause
        self.verb: Node | None = None  # the verb of the current clause
        self.nearest: Node | None = None  # the noun read last
        self.conjunction: Node | None = None  # "and", until its noun is read

    def read(self) -> Node:
        """Return the tree of the caption."""
        while self.index < len(self.words):
            self._read_next()
        assert self.root is not None, self.words
        self.root.before = self.before_root + self.root.before
        return self.root

    def _read_next(self) -> None:
        word = self.words[self.index].lower()
        if word == "and" and self._peek() != "down":
            self.conjunction = Node(self._take())
        elif word == "there":
            self.before_root.append(Node(self._take(), "expl"))
        elif word in {"is", "are"}:
            self._read_be()
        elif word in FINITE and self.root is not None and self.root.speech == "NOUN":
            self._make_root(Node(self._take(), "ROOT", "VERB"))
        elif word in PARTICIPLES and self.topic is not None:
            self.verb = self.topic.add("acl", Node(self._take()))
        elif self._is_preposition(word):
            self._read_preposition()
        elif word in PHRASE_STARTS or word in NOUNS:
            self._read_noun()
        else:
            self._read_adverb()

    def _take(self) -> str:
        self.index += 1
        return self.words[self.index - 1]

    def _peek(self) -> str:
        return self.words[self.index + 1].lower() if self.index + 1 < len(self.words) else ""

    def _is_preposition(self, word: str) -> bool:
        following = self._peek()
        if [part.lower() for part in self.words[max(0, self.index - 2) : self.index + 1]] == [
            "with",
            "mountains",
            "behind",
        ]:
            return False
        if word in {"next", "out", "high"}:
            return following in PREPOSITIONS
        return word in PREPOSITIONS and (
            following in PHRASE_STARTS or following in NOUNS | {"sandy", "city"} or word == "of"
        )

    def _take_noun_phrase(self) -> list[str]:
        """Take the words of a noun phrase, up to and including its noun."""
        start = self.index
        while self.index < len(self.words):
            word = self._take().lower()
            compound = self.index < len(self.words) and self.words[self.index].lower() in COMPOUND_HEADS
            if word in NOUNS and not compound:
                break
            if word == "up":  # "a close up"
                break
        return self.words[start : self.index]

    def _make_root(self, verb: Node) -> None:
        """Make `verb` the root, with the noun that was the root as its subject."""
        assert self.root is not None
        self.root.label = "nsubj"
        verb.before.append(self.root)
        self.root = self.verb = verb
        self.nearest = (
            None  # in "a dog sleeps and a cat" the cat is joined to the sentence, not to its subject
        )

    def _read_be(self) -> None:
        be = Node(self._take(), "ROOT", "AUX")
        following = self.words[self.index].lower() if self.index < len(self.words) else ""
        if self.topic is None:  # "there is"
            self.root = self.verb = be
        elif following in PARTICIPLES:
            passive = following in {"seated", "lit"}
            be.label, be.speech = "auxpass" if passive else "aux", "AUX"
            self._make_root(Node(self._take(), "ROOT", "VERB"))
            assert self.root is not None
            self.root.before[-1].label = "nsubjpass" if passive else "nsubj"
            self.root.before.append(be)
        else:
            self._make_root(be)

    def _read_noun(self) -> None:
        noun = noun_phrase(self._take_noun_phrase())
        if self.conjunction is not None:
            finite = self.root is not None and self.root.speech != "NOUN"
            first = (self.nearest or self.root) if finite else self.main
            assert first is not None
            first.add("cc", self.conjunction)
            first.add("conj", noun)
            self.conjunction = None
        elif self.root is None:
            self.root = self.main = noun
        elif self.verb is self.root and self.topic is None:
            self.root.add("attr", noun)
        self.topic, self.nearest, self.verb = noun, noun, None

    def _read_preposition(self) -> None:
        lead = [self._take()]
        while self._is_lead(lead):
            lead.append(self._take())
        phrase = prepositional_phrase([*lead, *self._take_noun_phrase()])
        inner = phrase
        while inner.after:
            inner = inner.after[-1]
        if self.root is None:
            self.before_root.append(phrase)
            self.nearest = inner
            return
        head = self.nearest if lead[0] == "of" else self.verb or self._default_head()
        assert head is not None
        head.add(phrase.label, phrase)
        self.nearest = inner
        if lead[0] == "of" and head.word.lower() in CONTAINER_NOUNS:
            self.main = inner if self.main is self.topic else self.main
            self.topic = inner

    def _is_lead(self, lead: list[str]) -> bool:
        return self.words[self.index].lower() in PREPOSITIONS and lead[-1].lower() in {"next", "out", "high"}

    def _default_head(self) -> Node | None:
        """Return the head of a preposition in a clause without a verb."""
        return self.root if self.root is not None and self.root.speech != "NOUN" else self.topic

    def _read_adverb(self) -> None:
        word = self._take()
        after_noun = self.words[self.index - 2].lower() in NOUNS if self.index > 1 else False
        head = (self.nearest if after_noun else self.verb) or self.topic
        assert head is not None, self.words
        if word.lower() in {"asleep", "hot"}:
            head.add("acomp", Node(word))
            return
        adverb = head.add("advmod", Node(word))
        if (
            self.index < len(self.words)
            and self.words[self.index].lower() == "and"
            and self._peek() in ADVERBS
        ):
            adverb.add("cc", Node(self._take()))
            adverb.add("conj", Node(self._take(), speech="ADV"))
