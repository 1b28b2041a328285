"""Captions parsed in batches against one by one, on one core: the demo's parser, and one of en_core_web_sm's size."""

from collections.abc import Iterator
from functools import partial
from itertools import islice, repeat
from pathlib import Path

import numpy as np
import pytest
import torch

from bench.measurement import compare, measure
from benchmark.core.batch import Batch
from filters.complexity_action import ComplexityAction, rank
from filters.text.parsing import load_pipeline
from filters.text.scene_graph import scene_graph
from pairsift.demo.settings import demo_model
from tests.filters.text.english_web_treebank import pipeline, sentences
from tests.pools import numbered_uids
from tools.demo_world.draws import generator
from tools.demo_world.language.descriptions.descriptions import describe
from tools.demo_world.language.trees import text_of
from tools.demo_world.noise import pool_scene

pytestmark = pytest.mark.perf
COUNT = 1024
IMPORTS = ("spacy",)


def demo_captions(count: int) -> list[str]:
    captions = []
    for index in range(count):
        rng = generator("models", index, 3)
        captions.append(text_of(describe(pool_scene(rng), rng)))
    return captions


def batch(captions: list[str]) -> Batch:
    return Batch(numbered_uids(len(captions)), captions)


def in_batches(folder: str, count: int, copies: int) -> Iterator[None]:
    """Score `copies` of `count` captions that differ, as the filter does."""
    captions = [text for text in demo_captions(count) for _ in repeat(None, copies)]
    scorer = ComplexityAction(folder)
    scorer.setup(torch.device("cpu"))
    yield
    scorer.score(batch(captions))


def one_by_one(folder: str, count: int) -> Iterator[None]:
    captions, parse = demo_captions(count), load_pipeline(folder)
    yield
    for text in captions:
        rank(scene_graph(parse(text)))


def write_large_pipeline(folder: Path, treebank_file: Path) -> None:
    """Write a pipeline of the size of en_core_web_sm, untrained."""
    from spacy.training import Example

    large = pipeline(width=96, rows=2000, depth=4, hidden=64)
    treebank = list(islice(sentences(treebank_file), 300))
    large.initialize(lambda: [Example(large.make_doc(doc.text), doc) for _, doc in treebank])
    large.to_disk(folder)


def ratio(name: str, folder: str) -> float:
    return compare(
        f"parse and rank {COUNT:,} captions, {name}",
        partial(measure, in_batches, folder, COUNT, 1),
        "spaCy one by one",
        partial(measure, one_by_one, folder, COUNT),
        0.5,
    ).ratio


def test_captions_parsed_by_the_demos_pipeline() -> None:
    assert ratio("the demo's pipeline", demo_model("parser")) < 0.8


def test_captions_parsed_by_a_pipeline_of_the_size_of_sm(tmp_path: Path, shared_data: Path) -> None:
    write_large_pipeline(tmp_path / "large", shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu")
    assert ratio("size of en_core_web_sm", str(tmp_path / "large")) < 0.8


def test_copies_are_parsed_once() -> None:
    once, copies = (measure(in_batches, demo_model("parser"), 512, n).cpu_seconds for n in (1, 4))
    assert copies < 2 * once
    captions, scorer = demo_captions(64), ComplexityAction(demo_model("parser"))
    scorer.setup(torch.device("cpu"))
    assert np.array_equal(scorer.score(batch(captions * 4))[:64], scorer.score(batch(captions)))
