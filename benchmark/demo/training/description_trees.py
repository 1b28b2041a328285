"""The tree of a descriptive caption: `wording`'s grammar is so regular that the order of the words decides it."""

from benchmark.demo.training.dependency_trees import (
    ABOUT,
    ADVERBS,
    FINITE,
    PARTICIPLES,
    PREPOSITIONS,
    Node,
    noun_phrase,
    prepositional,
)
from benchmark.demo.vocabulary import KINDS

NOUNS = {noun for kind in KINDS.values() for pair in kind.nouns for noun in pair} | ABOUT - {"up"} | {
    "street", "road", "field", "grass", "beach", "sea", "water", "lake", "room", "carpet", "kitchen", "floor",
    "forest", "woods", "snow", "hill", "night", "sky", "desert", "dune", "mountains", "air", "wind", "side",
    "left", "right",
    "front", "top", "bottom",
}  # fmt: skip
OPENING = {"a", "an", "the", "one", "two", "three", "four"}
AFTER_A_NOUN = {"night", "sky", "dune", "floor"}  # as in "the kitchen floor"


class DescriptionReader:
    """Reads a caption of `wording.describe` word by word, and hangs each phrase on what it is about.

    A participle is about the noun before it; a preposition hangs on the verb of its clause, or on the clause's noun
    where there is no verb; "and" joins a noun to the caption's first, behind a finite verb to the nearest.
    """

    def __init__(self, words: list[str]) -> None:
        self.words, self.at = words, 0
        self.root: Node | None = None
        self.waiting: list[Node] = []  # what comes before the root and hangs on it
        self.main: Node | None = None  # the noun that the caption is about
        self.topic: Node | None = None  # the noun of this clause
        self.verb: Node | None = None
        self.nearest: Node | None = None
        self.joint: Node | None = None  # "and", until its noun comes

    def read(self) -> Node:
        """Return the tree of the caption."""
        while self.at < len(self.words):
            self._step()
        assert self.root is not None, self.words
        self.root.before = self.waiting + self.root.before
        return self.root

    def _step(self) -> None:
        word = self.words[self.at].lower()
        if word == "and" and self._next() != "down":
            self.joint = Node(self._take())
        elif word == "there":
            self.waiting.append(Node(self._take(), "expl"))
        elif word in {"is", "are"}:
            self._be()
        elif word in FINITE and self.root is not None and self.root.speech == "NOUN":
            self._subject(Node(self._take(), "ROOT", "VERB"))
        elif word in PARTICIPLES and self.topic is not None:
            self.verb = self.topic.add("acl", Node(self._take()))
        elif self._is_preposition(word):
            self._preposition()
        elif word in OPENING or word in NOUNS:
            self._noun()
        else:
            self._adverb()

    def _take(self) -> str:
        self.at += 1
        return self.words[self.at - 1]

    def _next(self) -> str:
        return self.words[self.at + 1].lower() if self.at + 1 < len(self.words) else ""

    def _is_preposition(self, word: str) -> bool:
        following = self._next()
        if [part.lower() for part in self.words[max(0, self.at - 2) : self.at + 1]] == [
            "with",
            "mountains",
            "behind",
        ]:
            return False
        if word in {"next", "out", "high"}:
            return following in PREPOSITIONS
        return word in PREPOSITIONS and (
            following in OPENING or following in NOUNS | {"sandy", "city"} or word == "of"
        )

    def _phrase(self) -> list[str]:
        """Take the words of a noun phrase: up to its noun."""
        start = self.at
        while self.at < len(self.words):
            word = self._take().lower()
            compound = self.at < len(self.words) and self.words[self.at].lower() in AFTER_A_NOUN
            if word in NOUNS and not compound:
                break
            if word == "up":  # "a close up"
                break
        return self.words[start : self.at]

    def _subject(self, verb: Node) -> None:
        """Make `verb` the root over the noun that was it."""
        assert self.root is not None
        self.root.label = "nsubj"
        verb.before.append(self.root)
        self.root = self.verb = verb
        self.nearest = None  # "a dog sleeps and a cat" joins the sentence, whose subject is behind it

    def _be(self) -> None:
        be = Node(self._take(), "ROOT", "AUX")
        doing = self.words[self.at].lower() if self.at < len(self.words) else ""
        if self.topic is None:  # "there is"
            self.root = self.verb = be
        elif doing in PARTICIPLES:
            passive = doing in {"seated", "lit"}
            be.label, be.speech = "auxpass" if passive else "aux", "AUX"
            self._subject(Node(self._take(), "ROOT", "VERB"))
            assert self.root is not None
            self.root.before[-1].label = "nsubjpass" if passive else "nsubj"
            self.root.before.append(be)
        else:
            self._subject(be)

    def _noun(self) -> None:
        noun = noun_phrase(self._phrase())
        if self.joint is not None:
            finite = self.root is not None and self.root.speech != "NOUN"
            first = (self.nearest or self.root) if finite else self.main
            assert first is not None
            first.add("cc", self.joint)
            first.add("conj", noun)
            self.joint = None
        elif self.root is None:
            self.root = self.main = noun
        elif self.verb is self.root and self.topic is None:
            self.root.add("attr", noun)
        self.topic, self.nearest, self.verb = noun, noun, None

    def _preposition(self) -> None:
        lead = [self._take()]
        while self._is_lead(lead):
            lead.append(self._take())
        phrase = prepositional([*lead, *self._phrase()])
        inner = phrase
        while inner.after:
            inner = inner.after[-1]
        if self.root is None:
            self.waiting.append(phrase)
            self.nearest = inner
            return
        host = self.nearest if lead[0] == "of" else self.verb or self._host()
        assert host is not None
        host.add(phrase.label, phrase)
        self.nearest = inner
        if lead[0] == "of" and host.word.lower() in ABOUT:
            self.main = inner if self.main is self.topic else self.main
            self.topic = inner

    def _is_lead(self, lead: list[str]) -> bool:
        return self.words[self.at].lower() in PREPOSITIONS and lead[-1].lower() in {"next", "out", "high"}

    def _host(self) -> Node | None:
        """Return what a preposition hangs on where this clause has no verb."""
        return self.root if self.root is not None and self.root.speech != "NOUN" else self.topic

    def _adverb(self) -> None:
        word = self._take()
        after_noun = self.words[self.at - 2].lower() in NOUNS if self.at > 1 else False
        host = (self.nearest if after_noun else self.verb) or self.topic
        assert host is not None, self.words
        if word.lower() in {"asleep", "hot"}:
            host.add("acomp", Node(word))
            return
        adverb = host.add("advmod", Node(word))
        if self.at < len(self.words) and self.words[self.at].lower() == "and" and self._next() in ADVERBS:
            adverb.add("cc", Node(self._take()))
            adverb.add("conj", Node(self._take(), speech="ADV"))
