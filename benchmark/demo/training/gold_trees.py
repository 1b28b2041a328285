"""Captions of the demo with their gold trees, one of any kind at a time."""

import numpy as np

from benchmark.demo import noisy_captions
from benchmark.demo.descriptions import article, describe
from benchmark.demo.training import tree_templates
from benchmark.demo.training.dependency_trees import (
    Node,
    Tree,
    flat,
    noun_phrase,
    prepositional,
    read_template,
    respell,
    tree,
)
from benchmark.demo.training.description_trees import DescriptionReader
from benchmark.demo.vocabulary import KINDS, PLACES
from benchmark.demo.world import Scene, Weighted, pick

KIND = Weighted({"description": 10, "abstract": 3, "news": 3, "product": 2, "slogan": 2})
CASE = Weighted({"as it is": 8, "lower": 1, "title": 1})


def draw_tree(scene: Scene, rng: np.random.Generator) -> Tree:
    """Return a caption of any kind with its tree."""
    kind = KIND(rng)
    made = tree(MAKERS[kind](scene, rng))
    case = CASE(rng)
    return made if case == "as it is" else respell(made, str.lower if case == "lower" else str.title)


def _description(scene: Scene, rng: np.random.Generator) -> Node:
    text = describe(scene, rng)
    root = DescriptionReader(text.rstrip(".").split()).read()
    if text.endswith("."):
        root.add("punct", Node("."))
    return root


def _abstract(scene: Scene, rng: np.random.Generator) -> Node:
    phrases = _phrases(scene, rng)
    root = read_template(pick(rng, tree_templates.ABSTRACT), phrases)
    if rng.random() < 0.35:
        aside = read_template(pick(rng, tree_templates.ASIDES), phrases)
        root.add("punct", Node(","))
        root.add(aside.label, aside)
    return root


def _news(scene: Scene, rng: np.random.Generator) -> Node:
    phrases = _phrases(scene, rng)
    if rng.random() < 0.25:
        return read_template(pick(rng, tree_templates.NEWS), phrases)
    said = Node(pick(rng, noisy_captions.SAID))
    actor = noun_phrase(pick(rng, noisy_captions.ACTORS).split())
    actor.label = "nsubj"
    said.before.append(actor)
    if rng.random() < 0.7:
        said.add("prep", Node("on")).add("pobj", Node(pick(rng, noisy_captions.DAYS)))
    happens = read_template(pick(rng, tree_templates.HAPPENS), phrases)
    said.add("ccomp", happens)
    if rng.random() < 0.85:
        ending = read_template(pick(rng, tree_templates.ENDINGS), phrases)
        said.add(ending.label, ending)
    return said


def _product(scene: Scene, rng: np.random.Generator) -> Node:
    return flat(_split(noisy_captions.product_caption(scene, rng)))


def _slogan(scene: Scene, rng: np.random.Generator) -> Node:
    words = noisy_captions.slogan(rng)
    return flat(_split(noisy_captions.echo(words, [word.upper() for word in words], rng)))


MAKERS = {
    "description": _description, "abstract": _abstract, "news": _news, "product": _product, "slogan": _slogan,
}  # fmt: skip


def _split(text: str) -> list[str]:
    """Return the words of a title; what joins them, as in "boat-red-17.jpg", is a word of its own."""
    for mark in "-|:,()":
        text = text.replace(mark, f" {mark} ")
    return text.split()


def _phrases(scene: Scene, rng: np.random.Generator) -> dict[str, Node]:
    """Return what fills the slots of `tree_templates`, drawn as `noisy_captions` draws it."""
    thing = scene.things[0]
    one, many = KINDS[thing.kind].nouns[0]
    moods = noisy_captions.MOODS.get(scene.place, ("the weekend",))
    places = PLACES[scene.place if scene.place in PLACES else "street"].phrases
    texts = {
        "noun": one, "nouns": many, "a_noun": article(one), "mood": pick(rng, moods),
        "theme": pick(rng, noisy_captions.THEMES.get(thing.kind, noisy_captions.ANY_THEME)),
        "other": pick(rng, noisy_captions.ANY_THEME), "topic": pick(rng, noisy_captions.TOPICS),
        "prices": pick(rng, noisy_captions.PRICES), "month": pick(rng, noisy_captions.MONTHS),
        "ordinal": pick(rng, noisy_captions.ORDINALS), "number": str(3 + int(rng.random() * 87)),
    }  # fmt: skip
    phrases = {name: noun_phrase(text.split()) for name, text in texts.items()}
    return phrases | {"place": prepositional(pick(rng, places).split())}
