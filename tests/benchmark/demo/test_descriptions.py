"""Captions are true, varied, and of the length of COCO's."""

import re

import numpy as np
import pytest

from benchmark.demo.concreteness import concreteness
from benchmark.demo.descriptions import describe, distinct_descriptions
from benchmark.demo.draws import generator
from benchmark.demo.vocabulary import COLOUR_WORDS, COLOURS, KINDS, PATTERN_WORDS
from benchmark.demo.world import Scene, sample_scene

NOUNS = {noun: kind for kind, traits in KINDS.items() for pair in traits.nouns for noun in pair}
ADJECTIVES = {word: colour for colour in COLOURS for word in COLOUR_WORDS.get(colour, (colour,))}
PATTERNS = {word: p for p, words in PATTERN_WORDS.items() for word in words if word}


def words(caption: str) -> list[str]:
    return re.findall(r"[a-z-]+", caption.lower())


@pytest.fixture(scope="module")
def captions() -> list[tuple[Scene, str]]:
    rng = np.random.default_rng(0)
    domains = ("in", "near", "out")
    shown = [sample_scene(generator("evaluation", i, 1), domain) for domain in domains for i in range(700)]
    return [(s, describe(s, rng)) for s in shown for _ in range(2)]


def test_nouns_have_one_meaning():
    assert len(NOUNS) == len({(noun, kind) for kind, t in KINDS.items() for p in t.nouns for noun in p})


def test_captions_name_only_what_is_there(captions):
    for shown, caption in captions:
        said = words(caption)
        assert {NOUNS[w] for w in said if w in NOUNS} <= {t.kind for t in shown.things}, caption
        assert any(w in NOUNS for w in said), caption
        looks = {ADJECTIVES[w] for w in said if w in ADJECTIVES} - {"green"}  # "in a green field"
        assert looks <= {t.colour for t in shown.things}, caption
        patterns = {PATTERNS[w] for w in said if w in PATTERNS}
        assert patterns <= {t.pattern for t in shown.things}, caption


def test_numbers_are_true(captions):
    number = {"two": 2, "pair": 2, "three": 3, "four": 4, "group": 4}
    for shown, caption in captions:
        counts = {t.count for t in shown.things}
        assert {number[w] for w in words(caption) if w in number} <= counts, caption


def test_articles_and_spaces_are_right(captions):
    for _, caption in captions:
        assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]|  |\b(is|are) (is|are)\b", caption), caption
        assert caption == caption.strip()


def test_captions_are_as_long_as_cocos_and_rarely_repeated(captions):
    lengths = [len(words(caption)) for _, caption in captions]
    assert 9 < np.mean(lengths) < 13
    assert np.percentile(lengths, 95) <= 22
    assert len({caption for _, caption in captions}) > 0.95 * len(captions)


def test_some_captions_leave_something_out(captions):
    usual = [(s, c) for s, c in captions if len(s.things) > 1]
    named = [len({NOUNS[w] for w in words(c) if w in NOUNS}) for _, c in usual]
    assert 0.05 < np.mean([n == 1 for n in named]) < 0.4


def test_references_differ():
    for i in range(100):
        scene = sample_scene(generator("evaluation", i, 2))
        references = distinct_descriptions(scene, np.random.default_rng(i), 5)
        assert len(set(references)) == 5


def test_concreteness_equals_hand_computed_values():
    # red 1 + ball 1 + beach 0.8 = 2.8 of 2.8 + 0.35
    assert concreteness("A red ball on the beach.") == pytest.approx(2.8 / 3.15)
    # meaning, happiness: nothing to see
    assert concreteness("the meaning of happiness") == 0.0
    # dog 1; perfect, example, loyalty hidden
    assert concreteness("a dog, the perfect example of loyalty") == pytest.approx(1 / 4.35)
    # red 1 + striped 0.9 + cat 1 + blue 1 + cup 1 + table 1 = 5.9, counted as 4
    assert concreteness("a red striped cat, a blue cup and a table") == pytest.approx(4 / 4.35)
    assert concreteness("!!!") == 0.0
