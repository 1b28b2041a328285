"""Gold dependency trees of the demo's captions, and the parser trained on them."""

from pathlib import Path

from tests.demos import demo_model
from tools.demo_world.draws import generator
from tools.demo_world.language.trees import SPEECH, Tree, noun, phrase_list, prep, text_of, to_tree
from tools.scale_models import parser
from tools.scale_models.gold_trees import sample_tree


def edges(tree: Tree) -> set[str]:
    """Return the tree as readable edges: ``word label head``."""
    return {
        f"{word} {label} {tree.words[head]}"
        for word, label, head in zip(tree.words, tree.labels, tree.heads, strict=True)
    }


def test_phrases_have_the_heads_of_their_nouns() -> None:
    phrase = noun("bridges", det="the", number="two", adjectives=["old"], compounds=["stone"])
    phrase.add("prep", prep("of", noun("Dorn", compounds=["Ilva"], proper=True)))
    assert text_of(phrase) == "the two old stone bridges of Ilva Dorn"
    assert edges(to_tree(phrase)) == {
        "the det bridges", "two nummod bridges", "old amod bridges", "stone compound bridges", "bridges ROOT bridges",
        "of prep bridges", "Dorn pobj of", "Ilva compound Dorn",
    }  # fmt: skip


def test_titles_are_lists_that_depend_on_their_first_phrase() -> None:
    title = phrase_list([noun("boat", adjectives=["red"]), noun("poster"), noun("2019")], ["|", ""])
    assert text_of(title) == "red boat | poster 2019"
    assert {"| punct boat", "poster dep boat", "2019 dep boat"} <= edges(to_tree(title))


def test_every_gold_tree_is_a_tree() -> None:
    for index in range(300):
        tree = sample_tree(generator("models", index, 0))
        roots = [i for i, head in enumerate(tree.heads) if head == i]
        assert len(roots) == 1
        assert tree.labels[roots[0]] == "ROOT"
        assert set(tree.labels) <= set(SPEECH)
        for start in range(len(tree.heads)):
            node, steps = start, 0
            while tree.heads[node] != node:
                node, steps = tree.heads[node], steps + 1
                assert steps <= len(tree.heads)


def test_the_shipped_parser_is_small_and_right() -> None:
    folder = Path(demo_model("parser"))
    assert sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) < 900_000
    figures = parser.evaluate(folder, 200, 0)
    assert figures["labelled_attachment"] > 0.85
    assert figures["parts_of_speech"] > 0.9
