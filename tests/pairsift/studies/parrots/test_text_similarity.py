"""Similarities, bins and tables by hand, with encoders whose answers are known."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from benchmark.core.errors import UserError
from pairsift.studies.parrots.evaluation import Model, TextSpottingEvaluation, evaluate
from pairsift.studies.parrots.ngrams import Vocabulary, count_ngrams
from pairsift.studies.parrots.rendering import render
from pairsift.studies.parrots.similarity import (
    BATCH,
    Floats,
    Similarities,
    by_bin,
    by_style,
    measure,
    summarise,
)
from pairsift.studies.parrots.tables import text_spotting_tables
from tests.benchmark.results.report.made_results import texts


class Reader:
    """Knows each text by its first image's bytes: a text and its own images have the same axis."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        self.of_text = {text: row for row, text in enumerate(texts)}
        self.of_image = {image.tobytes(): row for row, text in enumerate(texts) for image in render(text)}
        self.batches: list[int] = []

    def embed_images(self, images: Sequence[Image.Image]) -> Floats:
        self.batches.append(len(images))
        return np.eye(self.size, dtype=np.float32)[[self.of_image[image.tobytes()] for image in images]]

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        return np.eye(self.size, dtype=np.float32)[[self.of_text[text] for text in texts]]


class Constant:
    """Finds everything equally similar: what an offset alone would give."""

    def embed_images(self, images: Sequence[Image.Image]) -> Floats:
        return np.tile(np.array([[0.6, 0.8]], np.float32), (len(images), 1))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        return np.tile(np.array([[0.0, 1.0]], np.float32), (len(texts), 1))


WORDS = [f"word{number}" for number in range(2 * BATCH + 1)]


def test_a_perfect_reader_has_mean_1_and_a_control_of_0() -> None:
    reader = Reader(WORDS)
    found = measure(reader, WORDS, seed=0)
    assert (found.own == 1).all()
    assert (found.other == 0).all()
    assert sum(reader.batches) == 4 * len(WORDS)
    assert max(reader.batches) <= 4 * BATCH
    summary = summarise(found)
    assert (summary.texts, summary.mean, summary.std, summary.above) == (len(WORDS), 1, 0, 1)


def test_an_offset_is_also_in_the_control_which_needs_two_texts() -> None:
    summary = summarise(measure(Constant(), WORDS, seed=0))
    assert (summary.mean, summary.other_mean) == pytest.approx((0.8, 0.8))
    assert summary.above == 0
    alone = summarise(measure(Constant(), ["alone"], seed=0))
    assert alone.mean == pytest.approx(0.8)
    assert (alone.other_mean, alone.other_std, alone.above) == (None, None, None)


OWN = np.array([[0.1, 0.2, 0.3, 0.4], [0.5, 0.5, 0.5, 0.5], [1, 1, 0, 0]], np.float32)
FOUND = Similarities(OWN, np.full((3, 4), 0.25, np.float32))


def test_summaries_equal_those_by_hand() -> None:
    summary = summarise(FOUND)
    assert summary.mean == pytest.approx(5 / 12)
    squares = 0.01 + 0.04 + 0.09 + 0.16 + 4 * 0.25 + 2
    assert summary.std == pytest.approx((squares / 12 - (5 / 12) ** 2) ** 0.5)
    assert (summary.other_mean, summary.other_std, summary.above) == pytest.approx((0.25, 0, 8 / 12))
    styles = by_style(FOUND)
    assert [s.mean for s in styles.values()] == pytest.approx([1.6 / 3, 1.7 / 3, 0.8 / 3, 0.9 / 3])
    assert {s.texts for s in styles.values()} == {3}


def test_bins_equal_those_by_hand() -> None:
    bins = by_bin(FOUND, np.array([9, 10, 1000]), (1, 10, 100, 1000))
    assert [(b.low, b.high, b.summary.texts) for b in bins] == [(1, 9, 1), (10, 99, 1), (1000, None, 1)]
    assert [b.summary.mean for b in bins] == pytest.approx([0.25, 0.5, 0.5])
    (whole,) = by_bin(FOUND, np.array([3, 1, 2]), (1,))
    assert (whole.low, whole.high, whole.summary) == (1, None, summarise(FOUND))


def vocabulary() -> Vocabulary:
    return count_ngrams(["to be or not to be 日本", "to boldly go " + "W" * 60], "here")


def judged(**changes: object) -> TextSpottingEvaluation:
    words = ["to", "be", "or", "not", "boldly", "go"]
    model = Model(Reader(words), {"model": "folder/reader", "pretrained": None}, "k")
    return replace(evaluate(model, vocabulary(), sample=None, seed=0), **changes)


def test_an_evaluation_counts_unrenderable_ngrams() -> None:
    made = judged()
    assert (made.kept, made.drawn, made.left_out) == (8, 8, {"no_glyph": 1, "too_wide": 1})
    assert (made.overall.texts, made.overall.mean) == (6, 1)
    assert [(b.low, b.summary.texts) for b in made.frequency] == [(1, 6)]
    assert [(b.low, b.high, b.summary.texts) for b in made.length] == [(1, 2, 4), (3, 4, 1), (5, 6, 1)]


def test_a_sample_depends_on_the_seed() -> None:
    model = Model(Constant(), {"model": "constant", "pretrained": None}, "k")
    many = count_ngrams(WORDS, "here")
    first, again, other = (evaluate(model, many, sample=9, seed=seed) for seed in (0, 0, 1))
    assert (first.drawn, first.kept, first.overall.texts) == (9, len(WORDS), 9)
    assert first.run_id == again.run_id != other.run_id
    with pytest.raises(UserError, match="none of 1 n-grams of here can be rendered"):
        evaluate(model, count_ngrams(["日本"], "here"), sample=None, seed=0)


def test_tables_show_the_newest_of_each_model() -> None:
    low = replace(judged().overall, mean=0.163, std=0.2, other_mean=None, above=None)
    other = judged(config={"model": "ViT-B-32", "pretrained": "openai"}, overall=low, finished="1")
    stale = replace(other, overall=replace(low, mean=0.5), finished="0")
    means, styles, frequency, length = text_spotting_tables([other, stale, judged()])
    assert texts(means) == [
        ["folder/reader", "here, 1-gram", "6", "2", "1.000 ± 0.000", "0.000 ± 0.000", "100.0"],
        ["ViT-B-32 (openai)", "here, 1-gram", "6", "2", "0.163 ± 0.200", "–", "–"],
    ]
    assert styles.header[2:] == ["black on white", "white on black", "white on grey", "black on grey"]
    assert frequency.header[2:] == ["1-9"]
    assert length.header[2:] == ["1-2", "3-4", "5-6"]
    assert texts(length)[0][2:] == ["1.000 ± 0.000"] * 3
    assert text_spotting_tables([]) == []
