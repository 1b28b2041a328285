"""Parses short phrases of the word tables into trees: noun phrases, places, comments."""

from tools.demo_world.language.trees import POSSESSIVES, Node, prep

_PREPOSITIONS = (
    "on in at by of off near with without above over under below beneath underneath behind beside inside"
    " within to from across along through into onto down during past around out for against between among"
    " amongst alongside before outside atop upon about as"
)
PREPOSITIONS = frozenset(_PREPOSITIONS.split())
DETERMINERS = frozenset({"a", "an", "the", "some", "another", "every", "all", "no"})
PRONOUNS = frozenset({"itself", "themselves", "nobody", "somebody", "something", "nothing"})
_NOUN_MODIFIERS = (
    "city night mountain kitchen forest winter bedroom hotel summer ocean country home office tile street carrot jet"
    " stick twig pebble coal tail side front cotton air minute sand snow sea canvas silk metal paper eye passenger"
    " toy pet family rubber brick stone playground garden coffee party safety valentine desert star storage water"
)
NOUN_MODIFIERS = frozenset(_NOUN_MODIFIERS.split())  # nouns among the adjectives of the tables
NUMERALS = frozenset({"two", "three", "four", "five", "six", "eight"})
PARTICLES = frozenset({"up", "down", "off", "over"})  # parts of a verb; words such as "along" are adverbs
SPACE_ADVERBS = frozenset({"next", "close", "adjacent", "ahead", "left", "far"})  # before a preposition
ADVERBS = frozenset({"around", "out", "ahead", "somewhere", "upward", "late"})
COMPLEMENTS = frozenset({"fun", "healthy", "empty", "cozy", "haunted", "content", "ready", "tall"})
INTENSIFIERS = frozenset({"very", "quite", "brand"})
PHRASAL = frozenset({"picking", "soaking"})  # verbs with an object after the particle
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
            phrase = read_prepositional_phrase(words[number:])
            node.add(phrase.label, phrase)
            return node
    *lead, last = words
    *compounds, head = last.split("~")
    node = Node(head, speech="PRON" if head in PRONOUNS else "NOUN")
    for word in lead:
        node.lead(modifier(word), Node(word))
    for word in compounds:
        node.lead("compound", Node(word, speech="NOUN"))
    return node


def modifier(word: str) -> str:
    """Return the label of a word before a noun."""
    if word in POSSESSIVES:
        return "poss"
    if word in NOUN_MODIFIERS:
        return "compound"
    return "det" if word in DETERMINERS else "nummod" if word in NUMERALS else "amod"


def read_prepositional_phrase(words: list[str]) -> Node:
    """Return the tree of words such as "in a light wind", "out of the sky", "late at night" or "outside"."""
    first, *rest = words
    if not rest:
        return Node(first, "advmod")
    if first not in PREPOSITIONS or (len(rest) == 1 and rest[0] in PREPOSITIONS):
        inner = read_prepositional_phrase(rest)
        inner.before.insert(0, Node(first, "advmod"))
        return inner
    if rest[0] in PREPOSITIONS:
        node = Node(first, "prep")
        node.add("prep", read_prepositional_phrase(rest))
        return node
    return prep(first, read_noun_phrase(rest))


def relative_position(words: str, phrase: Node) -> Node:
    """Return the phrase of a relation, such as "next_to" or "on_the_left_of", before `phrase`; its label is set."""
    first, *rest = words.split("_")
    if not rest:
        return prep(first, phrase)
    if first == "not":
        node = Node(rest[0], "advmod", before=[Node("not", "neg")])
        node.add("prep", prep(rest[1], phrase))
        return node
    if first in SPACE_ADVERBS or words == "right_of":
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
    """Return the tree of a participle, adjective or preposition with its dependents."""
    first, *rest = words
    if first in PREPOSITIONS:
        return read_prepositional_phrase(words)
    node = Node(first, "amod" if first == "ready" else "advcl")
    if len(rest) > 1 and rest[0] == "back":
        node.add("advmod", Node(rest.pop(0)))
    if rest and rest[0] in PARTICLES and (len(rest) == 1 or first in PHRASAL):
        node.add("prt", Node(rest.pop(0)))
    if rest:
        _add_complement(node, rest)
    return node


def _add_complement(verb: Node, words: list[str]) -> None:
    """Add a participle's complement: an infinitive, an adverb, a prepositional phrase, an adjective or an object."""
    first, *rest = words
    if first == "to" and rest[0] in INFINITIVES:
        verb.add("xcomp", read_infinitive(words))
    elif first in ADVERBS:
        verb.add("advmod", Node(first))
        if rest:
            verb.add("prep", read_prepositional_phrase(rest))
    elif first in PREPOSITIONS:
        phrase = read_prepositional_phrase(words)
        is_agent = first == "by" and verb.word.endswith(("ed", "n", "made", "left", "built"))
        verb.add("agent" if is_agent else phrase.label, phrase).speech = "ADP"
    elif verb.word in {"looking", "growing", "getting"} and first in INTENSIFIERS | COMPLEMENTS:
        number = 1 if first in INTENSIFIERS else 0
        adjective = verb.add(
            "acomp", Node(words[number], before=[Node(word, "advmod") for word in words[:number]])
        )
        if words[number + 1 :]:
            adjective.add("prep", read_prepositional_phrase(words[number + 1 :]))
    else:
        verb.add("npadvmod" if first == "every" else "dobj", read_noun_phrase(words))


def read_infinitive(words: list[str]) -> Node:
    """Return the tree of words such as "to play"."""
    *lead, last = words
    return Node(
        last, "xcomp", before=[Node(lead[0], "aux", "PART"), *(Node(word, "auxpass") for word in lead[1:])]
    )
