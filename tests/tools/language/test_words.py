"""Forms of words, and captions as CC3M has them: hypernyms for names, no numbers, lower case."""

from collections.abc import Callable
from itertools import chain

import numpy as np
import pytest

from tools.demo_world.language.descriptions.phrase_reader import plural as plural_in_phrase
from tools.demo_world.language.hypernyms import HYPERNYMS, conceptual_text
from tools.demo_world.language.sentences.common_words import COMMON_WORDS
from tools.demo_world.language.sentences.lexicon import read_classes, read_topics
from tools.demo_world.language.sentences.morphology import (
    article,
    gerund,
    participle,
    past,
    plural,
    third_person,
)
from tools.demo_world.language.sentences.topic_words import TOPIC_WORDS
from tools.demo_world.language.titles.names import name_phrase, sample_name
from tools.demo_world.language.trees import Node, noun, phrase_list, prep, text_of


def test_lexicon_has_two_thousand_words_without_repeats() -> None:
    topics = read_topics(TOPIC_WORDS)
    classes = [*read_classes(COMMON_WORDS).values(), *chain(*(topic.values() for topic in topics.values()))]
    assert all(len(words) == len(set(words)) for words in classes)
    assert len({word for word in chain(*classes) if word.islower()}) > 3000
    assert all(set(topic) == set(topics["money"]) for topic in topics.values())


@pytest.mark.parametrize(
    ("inflect", "words", "forms"),
    [
        (gerund, "plan make lie see", "planning making lying seeing"),
        (past, "stop carry buy enjoy", "stopped carried bought enjoyed"),
        (participle, "write love", "written loved"),
        (third_person, "try miss play", "tries misses plays"),
        (plural, "story crisis wife bus", "stories crises wives buses"),
        (article, "hour idea union house", "an an a a"),
        (plural_in_phrase, "bus daisy key fly watch", "buses daisies keys flies watches"),
    ],
)
def test_words_take_their_regular_and_irregular_forms(
    inflect: Callable[[str], str], words: str, forms: str
) -> None:
    assert " ".join(map(inflect, words.split())) == forms


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
    assert conceptual_text(Node("IMG_2034.JPG"), RNG) == "image"  # nothing else is left
