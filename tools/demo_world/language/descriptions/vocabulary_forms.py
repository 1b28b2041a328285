"""The words of `visible_words` in their forms, and samplers of words by rank."""

from collections.abc import Iterable
from dataclasses import dataclass

from pairsift.demo.vocabulary import KINDS
from tools.demo_world.language.descriptions import visible_words
from tools.demo_world.language.descriptions.phrase_reader import plural
from tools.demo_world.sampling import Weighted


def ranked(words: Iterable[str], head: float, rare: float) -> Weighted:
    """Return a sampler of words by rank: a few frequent words, and a long tail of rare words.

    Args:
        words: the words, the commonest first.
        head: exponent of Zipf's law among the frequent words.
        rare: probability of a uniform draw from all words instead.
    """
    names = list(dict.fromkeys(words))
    weights = [(rank + 1) ** -head for rank in range(len(names))]
    total = sum(weights)
    return Weighted(
        {name: (1 - rare) * w / total + rare / len(names) for name, w in zip(names, weights, strict=True)}
    )


def ranked_phrases(text: str, head: float, rare: float) -> Weighted:
    """Return `ranked` of phrases between "|"."""
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


VERBS = {entry: _verb(entry) for words in visible_words.VERBS.values() for entry in words.split()} | {
    entry: _verb(entry) for words in visible_words.STANDING.values() for entry in words.split()
}
