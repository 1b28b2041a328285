"""Descriptions and alt texts are true, varied, as long as real ones, and come with sound dependency trees."""

import re
from collections import defaultdict

import numpy as np
import pytest

from pairsift.demo.vocabulary import KINDS, OUT_KINDS
from pairsift.demo.world import Scene
from tools.demo_world.concreteness import concreteness
from tools.demo_world.draws import generator
from tools.demo_world.language.descriptions import visible_places, visible_words
from tools.demo_world.language.descriptions.alt_texts import alt_text
from tools.demo_world.language.descriptions.descriptions import describe
from tools.demo_world.language.descriptions.phrase_reader import (
    PREPOSITIONS,
    read_comment,
    read_noun_phrase,
    relative_position,
)
from tools.demo_world.language.descriptions.vocabulary_forms import NOUNS, VERBS
from tools.demo_world.language.trees import Node, text_of, to_tree
from tools.demo_world.scenes import sample_scene
from tools.demo_world.words import OUT_PATTERNS

Caption = tuple[Scene, Node]


def owners(table: dict[str, str]) -> dict[str, set[str]]:
    """Return for each word of a table the keys that it stands for."""
    keys = defaultdict(set)
    for key, text in table.items():
        for word in text.split():
            keys[word].add(key)
    return keys


KIND_OF = {form: kind for kind, nouns in NOUNS.items() for n in nouns for form in (n.singular, n.plural)}
COLOURS_OF, PATTERNS_OF = owners(visible_words.SHADES), owners(visible_words.PATTERNS)
ACTIONS_OF = defaultdict(set)
for done, entries in visible_words.VERBS.items():
    for entry in entries.split():
        ACTIONS_OF[VERBS[entry].participle].add(done)
STILL = {VERBS[entry].participle for text in visible_words.STANDING.values() for entry in text.split()}
STILL |= {word for text in visible_words.PERCHES.values() for word in text.split()}


def words(text: str) -> list[str]:
    return re.findall(r"[a-z-]+", text.lower())


def place_words(place: str) -> set[str]:
    tables = (visible_places.GROUNDS, visible_places.BACKDROPS, visible_places.SCENERY)
    return {word for table in tables for word in words(table[place])}


@pytest.fixture(scope="module", params=[describe, alt_text])
def described(request) -> list[Caption]:
    write, rng = request.param, np.random.default_rng(0)
    domains = ("in", "near", "out")
    shown = [sample_scene(generator("evaluation", i, 1), domain) for domain in domains for i in range(400)]
    return [(s, write(s, rng)) for s in shown for _ in range(2)]


def test_nouns_have_one_meaning():
    forms = [(form, kind) for kind, nouns in NOUNS.items() for n in nouns for form in {n.singular, n.plural}]
    assert len({form for form, _ in forms}) == len(set(forms))
    assert [pair for kind in KINDS.values() for pair in kind.nouns] == [
        (n.singular, n.plural) for kind in KINDS for n in NOUNS[kind][: len(KINDS[kind].nouns)]
    ]


def test_words_for_out_of_domain_things_mean_nothing_else():
    banned = {form for kind in OUT_KINDS for n in NOUNS[kind] for form in (n.singular, n.plural)}
    banned |= {word for pattern in OUT_PATTERNS for word in visible_words.PATTERNS[pattern].split()}
    rng = np.random.default_rng(0)
    for i in range(3000):
        caption = text_of((describe, alt_text)[i % 2](sample_scene(rng, ("in", "near")[i // 2 % 2]), rng))
        assert not banned & set(words(caption)), caption


def test_captions_name_only_things_of_the_scene(described):
    for scene, tree in described:
        caption, place = text_of(tree), place_words(scene.place)
        said = set(words(caption))
        assert {KIND_OF[w] for w in said & KIND_OF.keys()} <= {t.kind for t in scene.things}, caption
        for word in said - place:
            assert COLOURS_OF.get(word, set()) <= {t.colour for t in scene.things}, caption
            assert PATTERNS_OF.get(word, set()) <= {t.pattern for t in scene.things}, caption
            if word in ACTIONS_OF and word not in STILL:
                assert ACTIONS_OF[word] & {t.action for t in scene.things}, caption


def test_numbers_articles_and_spaces_are_right(described):
    number = {"twin": 2, "pair": 2, "couple": 2, "duo": 2, "trio": 3, "quartet": 4}
    for scene, tree in described:
        caption = text_of(tree)
        assert {number[w] for w in words(caption) if w in number} <= {t.count for t in scene.things}, caption
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]|  |\b(is|are) (is|are)\b", caption, re.IGNORECASE), (
            caption
        )
        assert caption == caption.strip()


def test_phrases_attach_as_in_spacys_trees():
    def labels(node: Node) -> list[tuple[str, str]]:
        tree = to_tree(node)
        return [(label, tree.words[head]) for label, head in zip(tree.labels, tree.heads, strict=True)]

    cat = read_noun_phrase(["a", "small", "cat"])
    assert labels(relative_position("next_to", cat)) == [
        ("advmod", "next"), ("prep", "next"), ("det", "cat"), ("amod", "cat"), ("pobj", "to"),
    ]  # fmt: skip
    assert labels(relative_position("on_the_left_of", read_noun_phrase(["cats"]))) == [
        ("prep", "on"), ("det", "left"), ("pobj", "on"), ("prep", "left"), ("pobj", "of"),
    ]  # fmt: skip
    assert labels(read_comment(["waiting", "for", "its", "owner"])) == [
        ("advcl", "waiting"), ("prep", "waiting"), ("poss", "owner"), ("pobj", "for"),
    ]  # fmt: skip
    assert labels(read_noun_phrase(["rows", "of", "school~windows"])) == [
        ("ROOT", "rows"), ("prep", "rows"), ("compound", "windows"), ("pobj", "of"),
    ]  # fmt: skip


def test_prepositions_of_phrases_are_read_as_such():
    tables = (visible_words.COMMENTS, visible_words.MANNERS, visible_places.TIMES)
    for phrase in {phrase for table in tables for text in table.values() for phrase in text.split("|")}:
        tree = to_tree(read_comment(phrase.split()))
        for word, label in zip(tree.words, tree.labels, strict=True):
            if word in PREPOSITIONS:
                assert label in {"prep", "agent", "prt", "advmod", "aux"}, phrase


def test_concreteness_equals_hand_computed_values():
    for caption, expected in {
        "A red ball on the beach.": 2.8 / 3.15,  # red 1 + ball 1 + beach 0.8 = 2.8 of 2.8 + 0.35
        "the meaning of happiness": 0,  # nothing to see
        "a dog, the perfect example of loyalty": 1 / 4.35,  # dog 1; perfect, example, loyalty hidden
        # red 1 + striped 0.9 + cat 1 + blue 1 + cup 1 + table 1 = 5.9, counted as 4
        "a red striped cat, a blue cup and a table": 4 / 4.35,
        # terrier 1 + running 0.8 + kitchen 0.8 = 2.6; cute hidden, photo neither
        "Photo of a cute terrier running in a kitchen": 2.6 / 3.95,
        "!!!": 0,
    }.items():
        assert concreteness(caption) == pytest.approx(expected)
