"""A spaCy pipeline in small: parts of speech and dependencies of the demo's captions, as of en_core_web_sm."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchmark.demo.draws import generator
from benchmark.demo.noise import pool_scene
from benchmark.demo.training.data import HELD_OUT
from benchmark.demo.training.dependency_trees import Tree
from benchmark.demo.training.gold_trees import draw_tree
from benchmark.demo.training.loop import Recipe, seeded

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example


@dataclass(frozen=True)
class ParserTraining:
    """Shape and recipe of the small pipeline, and the number of captions of its text."""

    captions: int = 6000
    width: int = 32
    rows: int = 500
    hidden: int = 32
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=600, batch=64, lr=2e-3))


def train(out: Path, config: ParserTraining, device: torch.device) -> None:
    """Train a morphologizer and a parser over one small embedding of words, on the CPU.

    Sentences are of the `models` draw with the trees of `treebank`.
    """
    import spacy

    recipe = config.recipe
    with _seeded(recipe.seed):
        pipeline = spacy.blank("en")
        pipeline.add_pipe("tok2vec", config={"model": _embedding(config)})
        listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": config.width, "upstream": "*"}
        pipeline.add_pipe("morphologizer", config={"model": {"tok2vec": listener}})
        model = {"tok2vec": listener, "hidden_width": config.hidden, "maxout_pieces": 2}
        pipeline.add_pipe("parser", config={"model": model})
        examples = treebank(pipeline, config.captions, recipe.seed)
        optimizer = pipeline.initialize(lambda: examples)
        optimizer.learn_rate = recipe.lr
        rng = np.random.default_rng(recipe.seed)
        for step in range(recipe.steps):
            optimizer.learn_rate = recipe.lr * (1 - step / recipe.steps)
            rows = rng.integers(len(examples), size=recipe.batch)
            pipeline.update([examples[row] for row in rows], sgd=optimizer, drop=0.1)
    pipeline.to_disk(out)


def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return the share of right parts of speech, heads (UAS) and labelled heads (LAS) on held-out captions."""
    import spacy

    pipeline = spacy.load(folder)
    scores = pipeline.evaluate(treebank(pipeline, samples, seed, HELD_OUT))
    return {
        "parts_of_speech": scores["pos_acc"],
        "unlabelled_attachment": scores["dep_uas"],
        "labelled_attachment": scores["dep_las"],
    }


def count_weights(folder: Path) -> int:
    """Return the number of weights of the pipeline in `folder`."""
    import spacy

    parts: list[Any] = [part for _, part in spacy.load(folder).pipeline]
    nodes = {node.id: node for part in parts for node in part.model.walk()}
    return sum(
        node.get_param(name).size
        for node in nodes.values()
        for name in node.param_names
        if node.has_param(name)
    )


def treebank(pipeline: "Language", samples: int, seed: int, start: int = 0) -> list["Example"]:
    """Return gold sentences of the `models` draw from index `start`, in the tokens of the pipeline."""
    from spacy.training import Example

    examples = []
    for index in range(start, start + samples):
        rng = generator("models", index, seed)
        gold = _tokens(pipeline, draw_tree(pool_scene(rng), rng))
        examples.append(Example(pipeline.make_doc(gold.text), gold))
    return examples


def _tokens(pipeline: "Language", given: Tree) -> Any:
    """Return the sentence as a spaCy document, words cut where the pipeline's tokenizer cuts them.

    Of a word in several tokens the last is the word; the others hang on it.
    """
    from spacy.tokens import Doc

    pieces = [[token.text for token in pipeline.make_doc(word)] for word in given.words]
    last = np.cumsum([len(piece) for piece in pieces]) - 1
    words, speech, heads, labels, spaces = [], [], [], [], []
    for number, piece in enumerate(pieces):
        for text in piece[:-1]:
            words.append(text)
            speech.append("NOUN" if text.isalnum() else "PUNCT")
            labels.append("compound" if text.isalnum() else "punct")
            heads.append(int(last[number]))
            spaces.append(False)
        words.append(piece[-1])
        speech.append(given.speech[number])
        labels.append(given.labels[number])
        heads.append(int(last[given.heads[number]]))
        spaces.append(True)
    return Doc(pipeline.vocab, words=words, spaces=spaces, pos=speech, heads=heads, deps=labels)


def _embedding(config: ParserTraining) -> dict[str, Any]:
    """Return the embedding of words: hashed norms, prefixes, suffixes and shapes, two convolutions."""
    return {
        "@architectures": "spacy.Tok2Vec.v2",
        "embed": {
            "@architectures": "spacy.MultiHashEmbed.v2",
            "width": config.width,
            "attrs": ["NORM", "PREFIX", "SUFFIX", "SHAPE"],
            "rows": [2 * config.rows, config.rows, config.rows, config.rows // 2],
            "include_static_vectors": False,
        },
        "encode": {
            "@architectures": "spacy.MaxoutWindowEncoder.v2",
            "width": config.width,
            "depth": 2,
            "window_size": 1,
            "maxout_pieces": 2,
        },
    }


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Make spaCy repeat itself inside the block: it draws from the global generators, which are put back after."""
    from thinc.api import fix_random_seed

    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002, spaCy's own
    try:
        with seeded(seed):
            fix_random_seed(seed)
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
