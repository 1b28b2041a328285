"""Captions of the demo of several kinds with their gold dependency trees, to train and evaluate the parser."""

import numpy as np

from benchmark.demo import noisy_captions
from benchmark.demo.descriptions import article, describe
from benchmark.demo.language.trees import Node, Tree, respell, to_tree
from benchmark.demo.sampling import Weighted, pick
from benchmark.demo.training import tree_templates
from benchmark.demo.training.dependency_trees import (
    noun_phrase,
    phrase_list,
    prepositional_phrase,
    read_template,
)
from benchmark.demo.training.description_trees import DescriptionReader
from benchmark.demo.vocabulary import KINDS, PLACES
from benchmark.demo.world import Scene

# Relative frequencies of kinds of captions, and of their case.
KIND = Weighted({"description": 10, "abstract": 3, "news": 3, "product": 2, "slogan": 2})
CASE = Weighted({"unchanged": 8, "lower": 1, "title": 1})


def sample_tree(scene: Scene, rng: np.random.Generator) -> Tree:
    """Return a random caption of `scene` as a tree."""
    kind = KIND(rng)
    tree = to_tree(MAKERS[kind](scene, rng))
    case = CASE(rng)
    return tree if case == "unchanged" else respell(tree, str.lower if case == "lower" else str.title)


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
    verb = Node(pick(rng, noisy_captions.SAID))
    actor = noun_phrase(pick(rng, noisy_captions.ACTORS).split())
    actor.label = "nsubj"
    verb.before.append(actor)
    if rng.random() < 0.7:
        verb.add("prep", Node("on")).add("pobj", Node(pick(rng, noisy_captions.DAYS)))
    happens = read_template(pick(rng, tree_templates.HAPPENS), phrases)
    verb.add("ccomp", happens)
    if rng.random() < 0.85:
        ending = read_template(pick(rng, tree_templates.ENDINGS), phrases)
        verb.add(ending.label, ending)
    return verb


def _product(scene: Scene, rng: np.random.Generator) -> Node:
    return phrase_list(_split(noisy_captions.product_caption(scene, rng)))


def _slogan(scene: Scene, rng: np.random.Generator) -> Node:
    words = noisy_captions.slogan(rng)
    return phrase_list(_split(noisy_captions.echo(words, [word.upper() for word in words], rng)))


MAKERS = {
    "description": _description, "abstract": _abstract, "news": _news, "product": _product, "slogan": _slogan,
}  # fmt: skip


def _split(text: str) -> list[str]:
    """Split a title into words and punctuation marks: "boat-red" gives "boat", "-", "red"."""
    for mark in "-|:,()":
        text = text.replace(mark, f" {mark} ")
    return text.split()


def _phrases(scene: Scene, rng: np.random.Generator) -> dict[str, Node]:
    """Return a random phrase for each slot of `tree_templates`, from the same words as `noisy_captions`."""
    thing = scene.things[0]
    singular, plural = KINDS[thing.kind].nouns[0]
    moods = noisy_captions.MOODS.get(scene.place, ("the weekend",))
    places = PLACES[scene.place if scene.place in PLACES else "street"].phrases
    texts = {
        "noun": singular, "nouns": plural, "a_noun": article(singular), "mood": pick(rng, moods),
        "theme": pick(rng, noisy_captions.THEMES.get(thing.kind, noisy_captions.ANY_THEME)),
        "other": pick(rng, noisy_captions.ANY_THEME), "topic": pick(rng, noisy_captions.TOPICS),
        "prices": pick(rng, noisy_captions.PRICES), "month": pick(rng, noisy_captions.MONTHS),
        "ordinal": pick(rng, noisy_captions.ORDINALS), "number": str(3 + int(rng.random() * 87)),
    }  # fmt: skip
    phrases = {name: noun_phrase(text.split()) for name, text in texts.items()}
    return phrases | {"place": prepositional_phrase(pick(rng, places).split())}
