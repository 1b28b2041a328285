"""Gold dependency trees of the demo's captions, and the parser trained on them."""

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from benchmark.config import demo_model
from benchmark.demo import noisy_captions
from benchmark.demo.descriptions import describe
from benchmark.demo.draws import generator
from benchmark.demo.language.trees import Node, Tree, to_tree
from benchmark.demo.noise import pool_scene
from benchmark.demo.training import parser, tree_templates
from benchmark.demo.training.dependency_trees import phrase_list, read_template
from benchmark.demo.training.description_trees import DescriptionReader
from benchmark.demo.training.gold_trees import sample_tree


def edges(tree: Tree) -> set[str]:
    """Return the tree as readable edges: ``word label head``."""
    return {
        f"{word} {label} {tree.words[head]}"
        for word, label, head in zip(tree.words, tree.labels, tree.heads, strict=True)
    }


@pytest.mark.parametrize("name", ["ABSTRACT", "ASIDES", "HAPPENS", "ENDINGS", "NEWS"])
def test_tree_templates_spell_the_caption_templates(name: str) -> None:
    slots = defaultdict(Node)
    for slot in (
        "mood",
        "theme",
        "other",
        "noun",
        "nouns",
        "a_noun",
        "topic",
        "prices",
        "month",
        "ordinal",
        "number",
        "place",
    ):
        slots[slot] = Node("{" + slot + "}", "prep", "NOUN")
    spelled = ["".join(to_tree(read_template(text, slots)).words) for text in getattr(tree_templates, name)]
    assert spelled == [text.replace(" ", "") for text in getattr(noisy_captions, name) if text]


def test_descriptions_get_hand_written_trees() -> None:
    caption = "a photo of two red dogs sitting on top of a table and a cat"
    assert edges(to_tree(DescriptionReader(caption.split()).read())) == {
        "a det photo", "photo ROOT photo", "of prep photo", "dogs pobj of", "two nummod dogs", "red amod dogs",
        "sitting acl dogs", "on prep sitting", "top pobj on", "of prep top", "table pobj of", "a det table",
        "and cc dogs", "cat conj dogs", "a det cat",
    }  # fmt: skip
    caption = "On the beach a pair of birds are flying by next to a kite"
    assert edges(to_tree(DescriptionReader(caption.split()).read())) == {
        "On prep flying", "beach pobj On", "the det beach", "pair nsubj flying", "a det pair", "of prep pair",
        "birds pobj of", "are aux flying", "flying ROOT flying", "by advmod flying", "next advmod flying",
        "to prep next", "kite pobj to", "a det kite",
    }  # fmt: skip


def test_every_word_of_a_description_is_in_its_tree() -> None:
    for index in range(400):
        rng = generator("models", index, 7)
        words = describe(pool_scene(rng), rng).rstrip(".").split()
        assert to_tree(DescriptionReader(words).read()).words == words


def test_every_tree_has_one_root_above_all_words() -> None:
    for index in range(400):
        rng = generator("models", index, 8)
        tree = sample_tree(pool_scene(rng), rng)
        roots = [i for i, head in enumerate(tree.heads) if i == head]
        assert len(roots) == tree.labels.count("ROOT") == 1
        for position in range(len(tree.heads)):
            for _ in tree.heads:
                position = tree.heads[position]
            assert position == roots[0]


def test_a_title_is_a_list_of_noun_phrases() -> None:
    assert edges(to_tree(phrase_list(["Red", "Ball", "20cm", "-", "Free", "Shipping"]))) == {
        "Red amod 20cm", "Ball compound 20cm", "20cm ROOT 20cm", "- punct 20cm", "Shipping dep 20cm",
        "Free amod Shipping",
    }  # fmt: skip


def test_training_restores_the_global_generators() -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with parser.seeded_spacy(5):
        np.random.random(3)  # noqa: NPY002
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_the_shipped_parser_is_small_and_right() -> None:
    folder = Path(demo_model("parser"))
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 700_000
    figures = parser.evaluate(folder, 200, 0)
    assert figures["labelled_attachment"] > 0.97
    assert figures["parts_of_speech"] > 0.98
