"""Gold dependency trees of the demo's captions, in the labels of spaCy's English pipelines (ClearNLP).

Descriptive captions follow a grammar so regular that the word order determines the tree (`description_trees`); the
templates of other captions have their trees written out (`tree_templates`); product titles and slogans are lists of
noun phrases.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from benchmark.demo.descriptions import VERBS
from benchmark.demo.language.trees import Node
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
# Nouns before "of" that do not count as the subject: in "a photo of a dog" it is the dog.
CONTAINER_NOUNS = {"photo", "picture", "image", "view", "up", "pair", "group"}


def noun_phrase(words: Sequence[str]) -> Node:
    """Return the tree of a noun phrase: the head is the last word before an "of ..." or "for ..." and an adverb."""
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


def prepositional_phrase(words: Sequence[str]) -> Node:
    """Return the tree of a prepositional phrase, with "on top of", "next to" and "out on" as spaCy parses them."""
    first = words[0].lower()
    if first in {"next", "high", "out"}:
        inner = prepositional_phrase(words[1:])
        if first == "next":
            head = Node(words[0], "advmod")
            head.add("prep", inner)
            return head
        inner.before.append(Node(words[0], "advmod"))
        return inner
    head = Node(words[0], "prep")
    head.add("pobj", noun_phrase(words[1:]))
    return head


def phrase_list(words: Sequence[str]) -> Node:
    """Return the tree of a title or slogan: noun phrases separated by punctuation, all dependents of the first."""
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
    assert root, "a caption without words"
    return root


_PART = re.compile(r"\(|\)|[^\s()]+")


def read_template(text: str, phrases: Mapping[str, Node]) -> Node:
    """Parse a tree: ``(label dependents head dependents)``, where a single-word dependent is ``label:word``.

    A part of speech that differs from the usual one of the label follows a slash: ``word/SPEECH``. ``{slot}`` is
    replaced by the phrase of that name.
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
            elif head:  # a slot after the head keeps its own label: a prepositional phrase
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
