"""Captions in eight other languages: titles and short sentences from a small phrase grammar for each language."""

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.world import Scene
from tools.demo_world.language.foreign_words import FOREIGN_WORDS
from tools.demo_world.language.titles.names import sample_name
from tools.demo_world.language.trees import Node, noun
from tools.demo_world.sampling import Weighted, zipf

_PATTERNS = (
    "bare link bare", "bare where", "bare bare when", "about bare", "about bare where",
    "about bare link bare", "how noun doing", "how noun doing where", "how noun doing when where",
    "noun link noun", "noun where when", "name where", "name link bare", "bare name",
    "bare link bare where", "how noun doing link doing", "noun link noun where",
)  # fmt: skip


def _read_languages(text: str) -> dict[str, tuple[dict[str, Weighted], bool]]:
    """Return the classes of each language, and whether its verbs follow the object."""
    languages = {}
    for part in ("\n" + text.strip()).split("\n= ")[1:]:
        title, _, body = part.partition("\n")
        name, _, order = title.partition(" ")
        rows = (row.partition(": ") for row in body.replace("\n ", " ").splitlines())
        classes = {
            key: Weighted(zipf([phrase.strip() for phrase in phrases.split(",")])) for key, _, phrases in rows
        }
        languages[name] = (classes, order == "verb-last")
    return languages


LANGUAGES = _read_languages(FOREIGN_WORDS)
_LANGUAGE = Weighted(zipf(list(LANGUAGES)))


def foreign_caption(scene: Scene, rng: np.random.Generator) -> Node:
    """Return a caption in German, Spanish, French, Italian, Portuguese, Dutch, Polish or Russian.

    As English parsers take foreign text, all words but the last are compounds.
    """
    del scene  # a foreign caption does not describe the image
    classes, verb_last = LANGUAGES[_LANGUAGE(rng)]
    pattern = pick(rng, _PATTERNS)
    if not verb_last:
        pattern = pattern.replace("noun doing link doing", "doing link doing noun").replace(
            "noun doing", "doing noun"
        )
    words: list[str] = []
    for part in pattern.split():
        words += sample_name("person", rng).words if part == "name" else classes[part](rng).split()
    if rng.random() < 0.7:
        words[0] = words[0][:1].upper() + words[0][1:]
    root = noun(words[-1], compounds=words[:-1], proper=True)
    if rng.random() < 0.2:
        root.add("punct", Node(pick(rng, (".", "!", "?", "..."))))
    return root
