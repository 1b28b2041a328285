"""Reads the trees of short phrases of the word tables off their words: noun phrases, places, comments."""

from benchmark.demo.language.trees import Node, prep

_PREPOSITIONS = (
    "on in at by of off near with without above over under below beneath underneath behind beside inside"
    " within to from across along through into onto down during past around out for against between among"
    " amongst alongside before outside atop upon"
)
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
DETERMINERS = frozenset({"a", "an", "the", "some", "its", "their", "another", "every", "all", "no", "many"})
NUMERALS = frozenset({"two", "three", "four", "five", "six", "eight"})
PARTICLES = frozenset({"up", "down", "off", "over"})  # parts of a verb; words such as "along" are adverbs
SPACE_ADVERBS = frozenset({"next", "close", "adjacent", "ahead", "left", "far"})  # before a preposition
ADVERBS = frozenset({"around", "out", "ahead", "somewhere", "upward", "late", "by", "tall"})
COMPLEMENTS = frozenset({"fun", "healthy", "empty", "cozy", "haunted", "content"})
INFINITIVES = frozenset({"play", "hide", "go", "be"})


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


def modified(head: str, lead: list[tuple[str, str]], determiner: str = "") -> Node:
    """Return a noun phrase: `lead` are (label, word) before it; the determiner "a" becomes "an" as needed."""
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
