"""Captions a second on one core: the demo's parser, and one of the size of en_core_web_sm."""

import time
from collections.abc import Callable
from itertools import islice, repeat
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.config import demo_model
from benchmark.core.batch import Batch
from benchmark.demo.draws import generator
from benchmark.demo.language.descriptions.descriptions import describe
from benchmark.demo.language.trees import text_of
from benchmark.demo.noise import pool_scene
from filters.complexity_action import ComplexityAction, rank
from filters.text.parsing import load_pipeline
from filters.text.scene_graph import scene_graph
from tests.filters.text.english_web_treebank import pipeline, sentences
from tests.pools import numbered_uids

pytestmark = pytest.mark.perf
COUNT = 4096


def demo_captions(count: int) -> list[str]:
    captions = []
    for index in range(count):
        rng = generator("models", index, 3)
        captions.append(text_of(describe(pool_scene(rng), rng)))
    return captions


def made(folder: str) -> ComplexityAction:
    scorer = ComplexityAction(folder)
    scorer.setup(torch.device("cpu"))
    return scorer


def timed(work: Callable[[], object]) -> float:
    started = time.process_time()  # of this process alone: other work on the machine does not count
    work()
    return time.process_time() - started


def batch(captions: list[str]) -> Batch:
    return Batch(numbered_uids(len(captions)), captions)


def test_captions_parsed_per_second(tmp_path: Path, shared_data: Path) -> None:
    folder = tmp_path / "as_large_as_sm"
    large = pipeline(width=96, rows=2000, depth=4, hidden=64)
    treebank = list(islice(sentences(shared_data / "ud_english_ewt" / "en_ewt-ud-dev.conllu"), 300))
    from spacy.training import Example

    large.initialize(lambda: [Example(large.make_doc(doc.text), doc) for _, doc in treebank])
    large.to_disk(folder)
    captions = demo_captions(COUNT)
    for name, path in (("demo", demo_model("parser")), ("size of en_core_web_sm, untrained", str(folder))):
        scorer = made(path)
        scorer.score(batch(captions[:64]))
        seconds = timed(lambda scorer=scorer: scorer.score(batch(captions)))
        parse = load_pipeline(path)
        alone = timed(lambda parse=parse: [rank(scene_graph(parse(text))) for text in captions[:512]]) / 512
        print(f"\n{name}: {COUNT / seconds:.0f} captions/s, {alone * COUNT / seconds:.1f} times one by one")
    assert alone * COUNT / seconds > 1.5


def test_copies_are_parsed_once() -> None:
    scorer = made(demo_model("parser"))
    captions = demo_captions(512)
    once = timed(lambda: scorer.score(batch(captions)))
    copies = [text for text in captions for _ in repeat(None, 4)]
    assert timed(lambda: scorer.score(batch(copies))) < 2 * once
    assert np.array_equal(scorer.score(batch(copies))[::4], scorer.score(batch(captions)))
