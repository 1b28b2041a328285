"""Dependency trees of captions: a caption is built as a tree, which gives both its text and its gold parse.

Labels are the labels of spaCy's English pipelines (ClearNLP).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

# The part of speech of a word under each label, unless the node names another.
SPEECH = {
    "ROOT": "VERB", "acl": "VERB", "relcl": "VERB", "ccomp": "VERB", "advcl": "VERB", "xcomp": "VERB",
    "pcomp": "VERB", "csubj": "VERB", "nsubj": "NOUN", "nsubjpass": "NOUN", "dobj": "NOUN", "attr": "NOUN",
    "pobj": "NOUN", "dative": "NOUN",
    "conj": "NOUN", "appos": "NOUN", "compound": "NOUN", "npadvmod": "NOUN", "dep": "NOUN", "amod": "ADJ",
    "acomp": "ADJ", "det": "DET", "poss": "PRON", "nummod": "NUM", "aux": "AUX", "auxpass": "AUX", "prep": "ADP",
    "advmod": "ADV", "prt": "ADP", "cc": "CCONJ", "mark": "SCONJ", "neg": "PART", "punct": "PUNCT", "expl": "PRON",
    "case": "PART", "agent": "ADP",
}  # fmt: skip
GLUED = frozenset({",", ".", ";", ":", "!", "?", ")", "...", "'s"})  # never have a space before them


@dataclass
class Node:
    """A word with its dependents before and after it, in the order of the sentence.

    Args:
        word: the word as written.
        label: its relation to its head.
        speech: universal part of speech; empty for the usual one of the label.
        before: dependents to its left.
        after: dependents to its right.
        glued: write no space before the word.
        entity: category of the name that this word ends; empty for other words.
    """

    word: str
    label: str = "ROOT"
    speech: str = ""
    before: list["Node"] = field(default_factory=list)
    after: list["Node"] = field(default_factory=list)
    glued: bool = False
    entity: str = ""

    def add(self, label: str, node: "Node") -> "Node":
        """Add `node` as the last dependent of this node, with `label`, and return `node`."""
        node.label = label
        self.after.append(node)
        return node

    def lead(self, label: str, node: "Node") -> "Node":
        """Add `node` as the dependent directly before this node, with `label`, and return `node`."""
        node.label = label
        self.before.append(node)
        return node


@dataclass(frozen=True)
class Tree:
    """A sentence as lists over its words; the head of a word is an index, its own for the root.

    Args:
        words: the words.
        speech: universal parts of speech.
        heads: index of each word's head.
        labels: dependency labels.
    """

    words: list[str]
    speech: list[str]
    heads: list[int]
    labels: list[str]


def in_order(root: Node) -> list[tuple[Node, Node]]:
    """Return the nodes of a sentence from left to right, each with its head; the root is its own head."""
    order: list[tuple[Node, Node]] = []

    def visit(node: Node, head: Node) -> None:
        for child in node.before:
            visit(child, node)
        order.append((node, head))
        for child in node.after:
            visit(child, node)

    visit(root, root)
    return order


def text_of(root: Node) -> str:
    """Return the text of a sentence: its words with spaces, except before `GLUED` and glued words."""
    parts: list[str] = []
    for node, _ in in_order(root):
        if parts and not (node.glued or node.word in GLUED):
            parts.append(" ")
        parts.append(node.word)
    return "".join(parts)


def to_tree(root: Node) -> Tree:
    """Return the sentence of `root` as lists over its words."""
    order = in_order(root)
    position = {id(node): number for number, (node, _) in enumerate(order)}
    return Tree(
        [node.word for node, _ in order],
        [node.speech or SPEECH[node.label] for node, _ in order],
        [position[id(head)] for _, head in order],
        [node.label for node, _ in order],
    )


def respell(tree: Tree, spell: Callable[[str], str]) -> Tree:
    """Return the sentence with `spell` applied to each word, for example to change its case."""
    return replace(tree, words=[spell(word) for word in tree.words])


def noun(
    head: str,
    *,
    det: str = "",
    number: str = "",
    adjectives: Sequence[str] = (),
    compounds: Sequence[str] = (),
    proper: bool = False,
) -> Node:
    """Return a noun phrase, for example "the three old stone bridges".

    Args:
        head: the noun; of a name of several words the last one.
        det: determiner, or a possessive pronoun.
        number: numeral.
        adjectives: adjectives, from left to right.
        compounds: nouns before the head, from left to right; the first words of a name.
        proper: whether head and compounds are names.
    """
    speech = "PROPN" if proper else "NOUN"
    node = Node(head, speech=speech)
    if det:
        node.lead("poss" if det.lower() in POSSESSIVES else "det", Node(det))
    if number:
        node.lead("nummod", Node(number))
    for adjective in adjectives:
        node.lead("amod", Node(adjective))
    for compound in compounds:
        node.lead("compound", Node(compound, speech=speech))
    return node


POSSESSIVES = frozenset({"my", "your", "his", "her", "its", "our", "their"})


def prep(word: str, phrase: Node) -> Node:
    """Return a prepositional phrase, to be added to its head with the label "prep"."""
    node = Node(word, "prep")
    node.add("pobj", phrase)
    return node


def phrase_list(phrases: Sequence[Node], marks: Sequence[str]) -> Node:
    """Return phrases side by side, as in titles: all depend on the first; ``marks[i]`` comes before phrase i + 1.

    An empty mark writes nothing but a space.
    """
    root = phrases[0]
    for mark, phrase in zip(marks, phrases[1:], strict=True):
        if mark:
            root.add("punct", Node(mark))
        root.add("dep", phrase)
    return root
