"""Gold dependency trees of the demo's captions, in the labels of spaCy's English pipelines (ClearNLP).

Descriptive captions follow a grammar so regular that its word order decides the tree (`description_trees`); other
captions' templates have their trees written out (`tree_templates`); product titles and slogans are noun phrases in a
row.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from benchmark.demo.descriptions import VERBS
from benchmark.demo.vocabulary import COLOUR_WORDS, COLOURS, PATTERN_WORDS, SIZE_WORDS

DETERMINERS = {"a", "an", "the", "my", "your", "another", "this"}
NUMBER_WORDS = {"one", "two", "three", "four"}
ADJECTIVES = frozenset(chain(COLOURS, *COLOUR_WORDS.values(), *SIZE_WORDS.values(), *PATTERN_WORDS.values())) | {
    "sandy", "grassy", "starry", "snowy", "late", "quiet", "festive", "lazy", "busy", "long", "new", "good", "local",
    "public", "digital", "free", "cheap", "best", "lowest", "happy", "last", "hidden", "silent", "golden", "wild",
    "brave", "lost", "secret", "awesome", "eternal", "sweet", "grand", "fast", "official",
}  # fmt: skip
PREPOSITIONS = {
    "on", "in", "by", "at", "under", "above", "over", "below", "beneath", "behind", "beside", "inside", "with", "to",
    "through", "into", "of", "out", "for", "after", "despite", "about",
}  # fmt: skip
FINITE = {form.split()[0] for forms in VERBS.values() for one, many, _ in forms for form in (one, many)} - {
    "is",
    "are",
}
PARTICIPLES = {form.split()[0] for forms in VERBS.values() for _, _, form in forms} | {
    "seen",
    "seated",
    "lit",
    *VERBS,
}
ADVERBS = {"along", "up", "down", "fast", "around", "slowly", "brightly", "high", "next", "off", "away"}
ABOUT = {
    "photo",
    "picture",
    "image",
    "view",
    "up",
    "pair",
    "group",
}  # what is said of them is said of what they hold
# The part of speech of a word under a label, unless a template names another.
SPEECH = {
    "ROOT": "VERB", "acl": "VERB", "relcl": "VERB", "ccomp": "VERB", "advcl": "VERB", "xcomp": "VERB",
    "pcomp": "VERB", "csubj": "VERB", "nsubj": "NOUN", "nsubjpass": "NOUN", "dobj": "NOUN", "attr": "NOUN",
    "pobj": "NOUN",
    "conj": "NOUN", "appos": "NOUN", "compound": "NOUN", "npadvmod": "NOUN", "dep": "NOUN", "amod": "ADJ",
    "acomp": "ADJ", "det": "DET", "poss": "PRON", "nummod": "NUM", "aux": "AUX", "auxpass": "AUX", "prep": "ADP",
    "advmod": "ADV", "prt": "ADP", "cc": "CCONJ", "mark": "SCONJ", "neg": "PART", "punct": "PUNCT", "expl": "PRON",
}  # fmt: skip


@dataclass
class Node:
    """A word with what hangs on it, before and after, in the order of the sentence."""

    word: str
    label: str = "ROOT"
    speech: str = ""
    before: list["Node"] = field(default_factory=list)
    after: list["Node"] = field(default_factory=list)

    def add(self, label: str, node: "Node") -> "Node":
        """Hang `node` on this one as its last word so far, and return it."""
        node.label = label
        self.after.append(node)
        return node


@dataclass(frozen=True)
class Tree:
    """A sentence: words, universal parts of speech, the index of each word's head (its own for the root), labels."""

    words: list[str]
    speech: list[str]
    heads: list[int]
    labels: list[str]


def tree(root: Node) -> Tree:
    """Return the sentence under `root`."""
    order: list[tuple[Node, Node]] = []

    def visit(node: Node, head: Node) -> None:
        for child in node.before:
            visit(child, node)
        order.append((node, head))
        for child in node.after:
            visit(child, node)

    visit(root, root)
    place = {id(node): number for number, (node, _) in enumerate(order)}
    nodes = [node for node, _ in order]
    return Tree(
        [node.word for node in nodes],
        [node.speech or SPEECH[node.label] for node in nodes],
        [place[id(head)] for _, head in order],
        [node.label for node in nodes],
    )


def respell(given: Tree, spell: Callable[[str], str]) -> Tree:
    """Return the same sentence in another case."""
    return replace(given, words=[spell(word) for word in given.words])


def noun_phrase(words: Sequence[str]) -> Node:
    """Return a noun phrase: the last word is its noun, "of ..." and one adverb may follow it."""
    for number, word in enumerate(words[1:-1], 1):
        if word.lower() in {"of", "for"}:
            head = noun_phrase(words[:number])
            head.add("prep", Node(word)).add("pobj", noun_phrase(words[number + 1 :]))
            return head
    if len(words) > 1 and words[-1].lower() in ADVERBS | {"behind"} and words[-2].lower() != "close":
        head = noun_phrase(words[:-1])
        head.add("advmod", Node(words[-1]))
        return head
    return Node(words[-1], speech="NOUN", before=[Node(word, _modifier(word)) for word in words[:-1]])


def _modifier(word: str) -> str:
    low = word.lower()
    if low in DETERMINERS:
        return "poss" if low in {"my", "your"} else "det"
    if low in NUMBER_WORDS or low[:1].isdigit():
        return "nummod"
    return "amod" if low in ADJECTIVES else "compound"


def prepositional(words: Sequence[str]) -> Node:
    """Return a prepositional phrase: "on top of ...", "next to ..." and "out on ..." hang as spaCy's pipelines do."""
    first = words[0].lower()
    if first in {"next", "high", "out"}:
        inner = prepositional(words[1:])
        if first == "next":
            head = Node(words[0], "advmod")
            head.add("prep", inner)
            return head
        inner.before.append(Node(words[0], "advmod"))
        return inner
    head = Node(words[0], "prep")
    head.add("pobj", noun_phrase(words[1:]))
    return head


def flat(words: Sequence[str]) -> Node:
    """Return noun phrases in a row, as titles and slogans are: cut at punctuation, all hung on the first."""
    root: Node | None = None
    phrase: list[str] = []
    for word in [*words, ""]:
        if word and any(letter.isalnum() for letter in word):
            phrase.append(word)
            continue
        if phrase:
            node = noun_phrase(phrase)
            root = root.add("dep", node) and root if root else node
            phrase = []
        if word and root:
            root.add("punct", Node(word))
        elif word:
            phrase.append(word)
    assert root, "a caption of no words"
    return root


_PART = re.compile(r"\(|\)|[^\s()]+")


def read_template(text: str, phrases: Mapping[str, Node]) -> Node:
    """Return the tree written in `text`: ``(label ... head ... )``, with ``label:word`` for a word alone.

    A part of speech other than the label's usual one follows a slash. ``{slot}`` stands for one of `phrases`.
    """
    parts = _PART.findall(text)

    def read(start: int) -> tuple[Node, int]:
        label, number = parts[start + 1], start + 2
        head: Node | None = None
        before: list[Node] = []
        while parts[number] != ")":
            part = parts[number]
            if part == "(":
                child, number = read(number)
            elif ":" in part.strip(":"):
                name, _, word = part.partition(":")
                child, number = _word(word, name, phrases, []), number + 1
            elif head:  # a slot that hangs on the head as it hung on its own: a prepositional phrase
                child, number = _word(part, phrases[part.strip("{}")].label, phrases, []), number + 1
            else:
                head, number = _word(part, label, phrases, before), number + 1
                continue
            (head.after if head else before).append(child)
        assert head, f"no head in {text}"
        return head, number + 1

    return read(0)[0]


def _word(part: str, label: str, phrases: Mapping[str, Node], before: list[Node]) -> Node:
    if part.startswith("{"):
        head = phrases[part.strip("{}")]
        speech = head.speech if label == "ROOT" else ""
        return Node(head.word, label, speech, before + head.before, list(head.after))
    word, _, speech = part.partition("/")
    return Node(word, label, speech, before)
