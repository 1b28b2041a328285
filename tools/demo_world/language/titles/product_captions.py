"""Titles of products as in web shops: brand, model, features, specifications, prices and offers."""

import numpy as np

from pairsift.demo.draws import pick
from pairsift.demo.vocabulary import COLOURS
from pairsift.demo.world import Scene
from tools.demo_world.language.titles.names import Name, name_phrase, sample_name
from tools.demo_world.language.titles.segments import (
    chosen,
    code,
    colour_word,
    drawn_name,
    joined,
    noun_word,
    pattern_word,
    phrase,
    prep_part,
    price,
    recased,
    shuffled,
    site,
    size,
    whole,
    word,
    year,
)
from tools.demo_world.language.trees import Node

RIGHT_COLOUR = 0.8  # fraction of the named colours that the image shows


def product_caption(scene: Scene, name: Name, rng: np.random.Generator) -> Node:
    """Return a product's title; `name` is its brand."""
    colour = scene.things[0].colour if rng.random() < RIGHT_COLOUR else pick(rng, list(COLOURS))
    coloured = rng.random() < 0.5
    inside = coloured and rng.random() < 0.6
    branded = rng.random()
    product = _product(scene, rng, colour_word(colour, rng) if inside else "")
    if branded < 0.6:
        _put_before(product, name, rng)
    parts = _details(rng)
    if coloured and not inside:
        parts.insert(0, _variant(colour_word(colour, rng), rng))
    if rng.random() < 0.035:
        parts.append(Node(site(name, rng), speech="X"))
    if 0.6 < branded < 0.75:
        parts.append(prep_part(pick(rng, ("by", "from", "at")), name_phrase(name)))
    ordered = [product, *shuffled(rng, parts, 0.3)]
    if branded > 0.75:
        ordered.insert(0 if rng.random() < 0.3 else len(ordered), name_phrase(name))
    if rng.random() < 0.06:
        ordered = [*ordered[1:], ordered[0]]
    return recased(joined(rng, ordered), rng)


def _details(rng: np.random.Generator) -> list[Node]:
    """Return sizes, prices, codes, offers and the like, each with its own probability."""
    return chosen(
        rng,
        (
            (0.34, lambda: phrase(size(rng))),
            (0.08, lambda: phrase(size(rng))),
            (0.2, lambda: phrase(price(rng))),
            (0.1, lambda: phrase(code(rng))),
            (0.12, lambda: phrase(word(rng, "material"))),
            (0.05, lambda: phrase(word(rng, "material"), adjectives=[word(rng, "feature")])),
            (0.16, lambda: prep_part("for", phrase(word(rng, "audience")))),
            (0.26, lambda: _offer(rng)),
            (0.14, lambda: phrase(word(rng, "category"), word(rng, "item"))),
            (0.08, lambda: _compatible(rng)),
            (0.05, lambda: phrase(word(rng, "language"))),
            (
                0.04,
                lambda: phrase(year(rng), pick(rng, ("model", "edition", "collection", "version", "season"))),
            ),
        ),
    )


def _product(scene: Scene, rng: np.random.Generator, colour: str) -> Node:
    """Return a product, for example "waterproof red boat cover"."""
    thing = scene.things[0]
    words = [noun_word(thing, rng)] if rng.random() < 0.8 else [word(rng, "item")]
    if rng.random() < 0.4:
        words.append(word(rng, "item"))
    if rng.random() < 0.15:
        words.insert(0, word(rng, pick(rng, ("theme", "category", "creature", "plant", "sport"))))
    if rng.random() < 0.2:
        words.insert(0, word(rng, "material"))
    adjectives = [word(rng, "feature")] if rng.random() < 0.55 else []
    if rng.random() < 0.2:
        adjectives.append(word(rng, "feature"))
    if colour:
        adjectives.insert(int(rng.random() * (len(adjectives) + 1)), colour)
    if thing.pattern != "plain" and rng.random() < 0.2:
        adjectives.append(pattern_word(thing, rng))
    return phrase(*words, adjectives=adjectives)


def _offer(rng: np.random.Generator) -> Node:
    offer = phrase(word(rng, "offer"))
    style = rng.random()
    if style < 0.15:
        offer.add("punct", Node("!"))
    elif style < 0.3:
        offer.before.insert(0, Node(f"{whole(rng, 5, 80)}%", "nummod"))
    return offer


def _put_before(product: Node, name: Name, rng: np.random.Generator) -> None:
    """Put brand and perhaps model before the words of the product."""
    words = list(name.words)
    if rng.random() < 0.4:
        words += sample_name("model", rng).words
    if rng.random() < 0.06:
        words.insert(0, year(rng))
    nodes = [Node(text, "compound", speech="PROPN") for text in words]
    if rng.random() < 0.06:
        nodes.append(Node(pick(rng, ("®", "™", "-", "'s")), "punct"))
        nodes[-1].glued = nodes[-1].word in "®™"
    product.before[:0] = nodes


def _variant(colour: str, rng: np.random.Generator) -> Node:
    """Return the colour as shops list it, for example "Colour: red" or "in red/white"."""
    style = rng.random()
    if style < 0.5:
        return phrase(colour)
    if style < 0.7:
        return prep_part("in", phrase(colour))
    if style < 0.85:
        return phrase(word(rng, "theme"), colour)
    return phrase(pick(rng, ("Colour:", "Color:", "colour")), colour)


def _compatible(rng: np.random.Generator) -> Node:
    """Return the models that the product fits, for example "fits Velt X200 2004-2011"."""
    what = drawn_name("brand", rng)
    what.add("dep", drawn_name("model", rng))
    if rng.random() < 0.4:
        start = int(year(rng))
        what.add("nummod", Node(f"{start}-{start + int(whole(rng, 1, 9))}"))
    return prep_part(pick(rng, ("for", "fits", "with", "replaces")), what)
