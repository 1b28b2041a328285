"""Parrot captions: names, headlines and product lines that are written in the image, word for word.

"Parrot" is the word of Lin et al. 2023 for captions that repeat the text in their image.
"""

from collections.abc import Callable

import numpy as np

from pairsift.demo.draws import pick
from tools.demo_world.language.titles.names import Name, name_phrase, sample_name
from tools.demo_world.language.titles.segments import drawn_name, phrase, recased, whole, word, year
from tools.demo_world.language.trees import Node, in_order
from tools.demo_world.sampling import Weighted

MAX_WORDS = 6  # longer lines would be too small to be read at CLIP's resolution


def parrot_caption(name: Name, rng: np.random.Generator) -> Node:
    """Return a line of at most `MAX_WORDS` words as on a poster, a cover or a label; `name` is in two thirds."""
    line = _LINES[_LINE(rng)]
    while len(in_order(root := line(name, rng))) > MAX_WORDS:
        name = sample_name(name.category, rng)
    return recased(root, rng, _CASE(rng))


def _name(name: Name, rng: np.random.Generator) -> Node:
    """Return the name, in a third of the cases with a year, a number or a place."""
    root, style = name_phrase(name), rng.random()
    if style < 0.15:
        root.add("nummod", Node(year(rng)))
    elif style < 0.25:
        root.add("dep", drawn_name("place", rng))
    elif style < 0.33:
        root.before.insert(0, Node(word(rng, pick(rng, ("mood", "medium"))), "compound"))
    return root


def _product(name: Name, rng: np.random.Generator) -> Node:
    """Return a product as its label has it, for example "Velt organic tea"."""
    product = phrase(word(rng, pick(rng, ("item", "food", "category", "theme"))))
    if rng.random() < 0.4:
        product.before.insert(0, Node(word(rng, pick(rng, ("feature", "material", "mood"))), "amod"))
    brand = name_phrase(name if name.category == "brand" else sample_name("brand", rng))
    brand.label = "compound"
    product.before.insert(0, brand)
    return product


def _headline(name: Name, rng: np.random.Generator) -> Node:
    """Return a headline or slogan, for example "Beautiful summer sale" or "5 tips for beginners"."""
    style = rng.random()
    if style < 0.35:
        return phrase(word(rng, pick(rng, ("theme", "category"))), word(rng, "offer"))
    if style < 0.6:
        return phrase(whole(rng, 3, 50), word(rng, "theme"), word(rng, "blog"))
    if style < 0.8:
        return phrase(word(rng, pick(rng, ("occasion", "sport", "field"))), word(rng, "event"))
    return phrase(word(rng, "theme"), word(rng, "medium"), adjectives=[word(rng, "mood")])


Line = Callable[[Name, np.random.Generator], Node]
_LINES: dict[str, Line] = {"name": _name, "product": _product, "headline": _headline}
_LINE = Weighted({"name": 48, "product": 22, "headline": 30})
_CASE = Weighted({"title": 60, "upper": 22, "as is": 12, "lower": 6})
