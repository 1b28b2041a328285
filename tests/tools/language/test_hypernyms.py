"""Captions as CC3M has them: hypernyms for names, no numbers, lower case."""

import numpy as np

from tools.demo_world.language.hypernyms import HYPERNYMS, conceptual_text
from tools.demo_world.language.titles.names import name_phrase, sample_name
from tools.demo_world.language.trees import Node, noun, phrase_list, prep, text_of

RNG = np.random.default_rng(0)


def test_a_name_becomes_one_of_its_hypernyms() -> None:
    for category, hypernyms in HYPERNYMS.items():
        root = noun("poster", adjectives=["Red"])
        root.add("prep", prep("of", name_phrase(sample_name(category, RNG))))
        text = conceptual_text(root, RNG)
        assert text.startswith("red poster of ")
        assert text.removeprefix("red poster of ") in hypernyms.names
        assert text_of(root) != text


def test_numbers_go_with_their_prepositions_and_marks() -> None:
    root = noun("Boat", adjectives=["Red"])
    root.add("prep", prep("on", Node("6.11.19")))
    title = phrase_list([root, noun("SKU-77"), noun("photo")], ["|", ","])
    assert conceptual_text(title, RNG) == "red boat , photo"


def test_a_caption_of_nothing_else_is_an_image() -> None:
    assert conceptual_text(Node("IMG_2034.JPG"), RNG) == "image"
