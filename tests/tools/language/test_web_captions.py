"""Captions of titles, products, events, people and web strings."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from pairsift.demo.draws import pick
from pairsift.demo.vocabulary import COLOURS, KINDS, OUT_KINDS
from pairsift.demo.world import Scene
from tools.demo_world.language.titles.event_captions import event_caption
from tools.demo_world.language.titles.names import NAME_CATEGORIES, Name, sample_name
from tools.demo_world.language.titles.person_captions import person_caption
from tools.demo_world.language.titles.product_captions import product_caption
from tools.demo_world.language.titles.segments import LISTS
from tools.demo_world.language.titles.title_captions import title_caption
from tools.demo_world.language.titles.web_string_captions import web_string_caption
from tools.demo_world.language.trees import Node, text_of, to_tree
from tools.demo_world.scenes import sample_scene
from tools.demo_world.words import COLOUR_WORDS, OUT_PATTERNS

CAPTIONS: dict[str, Callable[[Scene, Name, np.random.Generator], Node]] = {
    "title": title_caption,
    "product": product_caption,
    "event": event_caption,
    "person": person_caption,
    "web_string": web_string_caption,
}
NOUNS = {word for kind in KINDS.values() for pair in kind.nouns for word in pair}


def draw(kind: str, number: int, seed: int = 0) -> list[tuple[Node, Scene, Name]]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        name = sample_name(pick(rng, NAME_CATEGORIES[kind]), rng)
        scene = sample_scene(rng)
        found.append((CAPTIONS[kind](scene, name, rng), scene, name))
    return found


@cache
def drawn(kind: str) -> list[tuple[Node, Scene, Name]]:
    return draw(kind, 1_500)


def captions(drawn: list[tuple[Node, Scene, Name]]) -> list[str]:
    return [text_of(tree) for tree, _, _ in drawn]


def has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


@pytest.mark.parametrize("kind", CAPTIONS)
def test_trees_have_one_root_and_known_labels(kind: str) -> None:
    for node, _, _ in drawn(kind)[:600]:
        tree = to_tree(node)
        roots = [i for i, head in enumerate(tree.heads) if head == i]
        assert len(roots) == 1
        assert [i for i, label in enumerate(tree.labels) if label == "ROOT"] == roots
        assert all(word and " " not in word for word in tree.words)
        assert len({id(n) for n in walk(node)}) == len(tree.words)


def walk(node: Node) -> list[Node]:
    return [node, *(n for child in [*node.before, *node.after] for n in walk(child))]


@pytest.mark.parametrize("kind", CAPTIONS)
def test_the_same_seed_gives_the_same_captions(kind: str) -> None:
    assert captions(draw(kind, 50)) == captions(draw(kind, 50))
    assert captions(draw(kind, 50)) != captions(draw(kind, 50, seed=1))


@pytest.mark.parametrize("kind", CAPTIONS)
def test_captions_hardly_repeat(kind: str) -> None:
    found = captions(drawn(kind))
    assert len(set(found)) > 0.99 * len(found)


@pytest.mark.parametrize("kind", CAPTIONS)
def test_captions_are_about_as_long_as_on_the_web(kind: str) -> None:
    low, high = {"title": (7, 9), "web_string": (2, 6)}.get(kind, (8, 11))
    assert low < np.mean([len(text.split()) for text in captions(drawn(kind))]) < high


def named(drawn: list[tuple[Node, Scene, Name]]) -> float:
    """Return the share of captions with a noun of the scene's main thing."""
    return float(
        np.mean(
            [
                any(
                    word in text_of(tree).lower()
                    for pair in KINDS[scene.things[0].kind].nouns
                    for word in pair
                )
                for tree, scene, _ in drawn
            ]
        )
    )


def test_titles_and_products_name_what_is_seen() -> None:
    assert named(drawn("title")) > 0.9
    assert named(drawn("product")) > 0.7
    assert named(drawn("event")) < 0.25
    assert named(drawn("person")) < 0.25


def test_half_of_the_products_name_a_colour_mostly_right() -> None:
    words = {colour: {colour, *COLOUR_WORDS.get(colour, ())} for colour in COLOURS}
    known = set().union(*words.values())
    shown = [(set(to_tree(tree).words), scene.things[0].colour) for tree, scene, _ in drawn("product")]
    lowered = [({word.lower() for word in caption} & known, colour) for caption, colour in shown]
    coloured = [bool(found & words[colour]) for found, colour in lowered if found]
    assert 0.4 < len(coloured) / len(lowered) < 0.65
    assert 0.7 < np.mean(coloured) < 0.95


def test_products_and_events_are_full_of_numbers() -> None:
    for kind, low, high in (("product", 0.12, 0.25), ("event", 0.1, 0.25), ("title", 0.01, 0.08)):
        words = [word for text in captions(drawn(kind)) for word in text.split()]
        assert low < np.mean([has_digit(word) for word in words]) < high


def test_people_and_events_are_named_in_their_captions() -> None:
    for kind, low in (("person", 0.97), ("event", 0.7)):
        hits = [name.words[0].lower() in text_of(tree).lower() for tree, _, name in drawn(kind)]
        assert np.mean(hits) > low


def test_word_lists_name_no_kind_or_colour_of_the_world() -> None:
    visible = NOUNS | {*COLOURS, *OUT_PATTERNS} | {word for words in COLOUR_WORDS.values() for word in words}
    listed = {part for entries in LISTS.values() for entry in entries for part in entry.lower().split()}
    assert listed.isdisjoint(visible)
    assert len(listed) > 1_200


@pytest.mark.parametrize("kind", CAPTIONS)
def test_captions_never_name_the_held_out_domain(kind: str) -> None:
    banned = {word for out in OUT_KINDS.values() for pair in out.nouns for word in pair} | set(OUT_PATTERNS)
    words = {
        word.strip(".,:()#").lower()
        for text in captions(drawn(kind))
        for word in text.replace("-", " ").split()
    }
    assert words.isdisjoint(banned)
