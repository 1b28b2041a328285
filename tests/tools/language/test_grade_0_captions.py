"""The captions of grade 0: abstract, news, and those in other languages."""

import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np
import pytest

from pairsift.demo.vocabulary import KINDS
from pairsift.demo.world import Scene
from tools.demo_world.language.foreign import LANGUAGES, foreign_caption
from tools.demo_world.language.sentences.abstract import abstract_caption
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
from tools.demo_world.language.sentences.news import news_caption
from tools.demo_world.language.sentences.topic_words import TOPIC_WORDS
from tools.demo_world.language.trees import SPEECH, Node, text_of, to_tree
from tools.demo_world.scenes import sample_scene

CAPTIONS: dict[str, Callable[[Scene, np.random.Generator], Node]] = {
    "abstract": abstract_caption,
    "news": news_caption,
    "foreign": foreign_caption,
}
LABELS = {*SPEECH, "agent"}


@lru_cache(maxsize=3)
def sample(kind: str, number: int = 1200, seed: int = 0) -> list[tuple[Scene, Node]]:
    rng = np.random.default_rng(seed)
    scenes = [sample_scene(rng) for _ in range(200)]
    return [(scenes[i % 200], CAPTIONS[kind](scenes[i % 200], rng)) for i in range(number)]


def texts(kind: str) -> list[str]:
    return [text_of(tree) for _, tree in sample(kind)]


def test_lexicon_has_two_thousand_words_without_repeats() -> None:
    topics = read_topics(TOPIC_WORDS)
    classes = [*read_classes(COMMON_WORDS).values(), *chain(*(topic.values() for topic in topics.values()))]
    assert all(len(words) == len(set(words)) for words in classes)
    assert len({word for word in chain(*classes) if word.islower()}) > 3000
    assert all(set(topic) == set(topics["money"]) for topic in topics.values())


def test_verbs_and_nouns_take_their_regular_and_irregular_forms() -> None:
    assert [gerund(word) for word in ("plan", "make", "lie", "see")] == [
        "planning",
        "making",
        "lying",
        "seeing",
    ]
    assert [past(word) for word in ("stop", "carry", "buy", "enjoy")] == [
        "stopped",
        "carried",
        "bought",
        "enjoyed",
    ]
    assert [participle(word) for word in ("write", "love")] == ["written", "loved"]
    assert [third_person(word) for word in ("try", "miss", "play")] == ["tries", "misses", "plays"]
    assert [plural(word) for word in ("story", "crisis", "wife", "bus")] == [
        "stories",
        "crises",
        "wives",
        "buses",
    ]
    assert [article(word) for word in ("hour", "idea", "union", "house")] == ["an", "an", "a", "a"]


@pytest.mark.parametrize("kind", CAPTIONS)
def test_every_caption_is_one_tree_of_known_labels(kind: str) -> None:
    for _, caption in sample(kind):
        tree = to_tree(caption)
        roots = [number for number, head in enumerate(tree.heads) if head == number]
        assert len(roots) == 1
        assert set(tree.labels) <= LABELS
        assert tree.labels[roots[0]] == "ROOT"
        assert "".join(tree.words).replace(" ", "") == text_of(caption).replace(" ", "")


@pytest.mark.parametrize("kind", ["abstract", "news"])
def test_subjects_stand_under_verbs_or_predicates(kind: str) -> None:
    heads = Counter(
        tree.speech[tree.heads[number]]
        for tree in (to_tree(caption) for _, caption in sample(kind))
        for number, label in enumerate(tree.labels)
        if label in ("nsubj", "nsubjpass", "dobj")
    )
    assert set(heads) <= {"VERB", "AUX", "ADJ"}


def test_grade_0_captions_are_long_and_vary_in_length() -> None:
    lengths = {kind: [len(text.split()) for text in texts(kind)] for kind in ("abstract", "news")}
    assert 12 < np.mean(lengths["abstract"]) < 16
    assert 15 < np.mean(lengths["news"]) < 20
    assert all(np.percentile(words, 95) > 3 * np.percentile(words, 5) for words in lengths.values())


@pytest.mark.parametrize("kind", ["abstract", "news"])
def test_captions_hardly_repeat_words_of_each_other(kind: str) -> None:
    written = texts(kind)
    assert len(set(written)) > 0.995 * len(written)
    words = [re.findall(r"[\w']+", text.lower()) for text in written]
    assert len(set(chain(*words))) > 3000
    pairs = [pair for row in words for pair in pairwise(row)]
    assert len(set(pairs)) > 0.7 * len(pairs)


@pytest.mark.parametrize("kind", ["abstract", "news"])
def test_a_part_of_the_captions_name_the_first_thing(kind: str) -> None:
    def mentions(scene: Scene, text: str) -> bool:
        return any(word in text.lower() for pair in KINDS[scene.things[0].kind].nouns for word in pair)

    share = np.mean([mentions(scene, text_of(caption)) for scene, caption in sample(kind)])
    assert 0.18 < share < 0.4


@pytest.mark.parametrize("kind", CAPTIONS)
def test_equal_seeds_give_equal_captions(kind: str) -> None:
    def written(seed: int) -> list[str]:
        rng = np.random.default_rng(seed)
        scene = sample_scene(rng)
        return [text_of(CAPTIONS[kind](scene, rng)) for _ in range(20)]

    assert written(3) == written(3) != written(4)


def test_every_language_has_sixty_words() -> None:
    for classes, _ in LANGUAGES.values():
        words = {word.lower() for row in classes.values() for name in row.names for word in name.split()}
        assert len(words) >= 60
