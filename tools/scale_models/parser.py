"""A small spaCy pipeline in place of en_core_web_sm: parts of speech and dependencies of the demo's captions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from pairsift.studies.icc.building.training import preserved_rng_state
from tools.demo_world.draws import generator
from tools.demo_world.language.trees import Tree
from tools.scale_models.data import HELD_OUT
from tools.scale_models.gold_trees import sample_tree
from tools.scale_models.loop import Recipe, seeded

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.training import Example


@dataclass(frozen=True)
class ParserTraining:
    """Shape and recipe of the small pipeline, and the number of training captions."""

    captions: int = 20_000
    width: int = 32
    rows: int = 500
    hidden: int = 32
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=2000, batch=64, lr=2e-3))


def train(out: Path, config: ParserTraining, device: torch.device) -> None:
    """Train a morphologizer and a parser with a shared word embedding, on the CPU.

    The sentences are captions of the `models` draw with their gold trees.
    """
    import spacy

    recipe = config.recipe
    with seeded_spacy(recipe.seed):
        pipeline = spacy.blank("en")
        pipeline.add_pipe("tok2vec", config={"model": _embedding(config)})
        listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": config.width, "upstream": "*"}
        pipeline.add_pipe("morphologizer", config={"model": {"tok2vec": listener}})
        model = {"tok2vec": listener, "hidden_width": config.hidden, "maxout_pieces": 2}
        pipeline.add_pipe("parser", config={"model": model})
        examples = gold_examples(pipeline, config.captions, recipe.seed)
        optimizer = pipeline.initialize(lambda: examples)
        optimizer.learn_rate = recipe.lr
        rng = np.random.default_rng(recipe.seed)
        for step in range(recipe.steps):
            optimizer.learn_rate = recipe.lr * (1 - step / recipe.steps)
            rows = rng.integers(len(examples), size=recipe.batch)
            pipeline.update([examples[row] for row in rows], sgd=optimizer, drop=0.1)
    pipeline.to_disk(out)
    # The words of the training captions are not needed: the models read only their hashes. Labels have other files.
    (out / "vocab" / "strings.json").write_text("[]\n")


def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return the accuracies of parts of speech, heads (UAS) and labelled heads (LAS) on held-out captions."""
    import spacy

    pipeline = spacy.load(folder)
    scores = pipeline.evaluate(gold_examples(pipeline, samples, seed, HELD_OUT))
    return {
        "parts_of_speech": scores["pos_acc"],
        "unlabelled_attachment": scores["dep_uas"],
        "labelled_attachment": scores["dep_las"],
    }


def count_weights(folder: Path) -> int:
    """Return the number of weights of the spaCy pipeline in `folder`."""
    import spacy

    parts: list[Any] = [part for _, part in spacy.load(folder).pipeline]
    nodes = {node.id: node for part in parts for node in part.model.walk()}
    return sum(
        node.get_param(name).size
        for node in nodes.values()
        for name in node.param_names
        if node.has_param(name)
    )


def gold_examples(pipeline: "Language", samples: int, seed: int, start: int = 0) -> list["Example"]:
    """Return captions of the `models` draw from index `start` with their gold trees, as spaCy examples."""
    from spacy.training import Example

    examples = []
    for index in range(start, start + samples):
        rng = generator("models", index, seed)
        gold = _to_doc(pipeline, sample_tree(rng))
        examples.append(Example(pipeline.make_doc(gold.text), gold))
    return examples


def _to_doc(pipeline: "Language", tree: Tree) -> Any:
    """Return the sentence as a spaCy document in the pipeline's tokens.

    If a word has several tokens, the last one takes its place in the tree and the others depend on it.
    """
    from spacy.tokens import Doc

    pieces = [[token.text for token in pipeline.make_doc(word)] for word in tree.words]
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
        speech.append(tree.speech[number])
        labels.append(tree.labels[number])
        heads.append(int(last[tree.heads[number]]))
        spaces.append(True)
    return Doc(pipeline.vocab, words=words, spaces=spaces, pos=speech, heads=heads, deps=labels)


def _embedding(config: ParserTraining) -> dict[str, Any]:
    """Return the config of the word embedding: hashed norms, prefixes, suffixes and shapes, then two convolutions."""
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
def seeded_spacy(seed: int) -> Iterator[None]:
    """Seed the global generators, which spaCy uses, inside the block; restore them afterwards."""
    from thinc.api import fix_random_seed

    with preserved_rng_state(), seeded(seed):
        fix_random_seed(seed)
        yield
