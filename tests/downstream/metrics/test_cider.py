"""CIDEr-D by hand, and bit for bit as pycocoevalcap computes it."""

import json

import numpy as np
import pytest

from downstream.evaluation.captioning import read_coco_results
from downstream.metrics.cider import cider
from downstream.metrics.metric import Corpus, UnavailableError


def pycocoevalcaps(corpus):
    from pycocoevalcap.cider.cider import Cider

    references = {image: list(corpus.references[image]) for image in corpus.candidates}
    _, scores = Cider().compute_score(references, {i: [text] for i, text in corpus.candidates.items()})
    return dict(zip(corpus.candidates, scores.tolist(), strict=True))


def test_by_hand():
    # No word is in both images, so each weighs log 2, and each caption equals its reference. The first has
    # n-grams of all four lengths (cosine 1 each); the second only of two lengths: 10 and 10 * 2 / 4.
    captions = {1: "a black cat sits", 2: "two dogs"}
    corpus = Corpus(captions, {image: [caption] for image, caption in captions.items()})
    assert cider(corpus) == pytest.approx({1: 10, 2: 5})


@pytest.mark.parametrize("words", [1, 2, 7, 300])
@pytest.mark.parametrize("longest", [1, 3, 25])
def test_each_bit_is_pycocoevalcaps(words, longest):
    rng = np.random.default_rng(words * longest)

    def caption():
        return " ".join(f"w{w}" for w in rng.integers(0, words, rng.integers(0, longest + 1)))

    candidates = {image: caption() for image in range(60)}
    references = {image: [caption() for _ in range(rng.integers(1, 8))] for image in candidates}
    references[0] = ["w0", "w0 w0 w1", candidates[0]]
    corpus = Corpus(candidates, references)
    assert cider(corpus) == pycocoevalcaps(corpus)


def test_each_bit_is_pycocoevalcaps_on_coco(shared_data):
    folder = shared_data / "coco_golden_eval"
    candidates = read_coco_results(folder / "small_captions_val2014_results.json")
    references = {}
    for row in json.loads((folder / "small_captions_val2014.json").read_text())["annotations"]:
        references.setdefault(row["image_id"], []).append(row["caption"])
    corpus = Corpus({image: candidates[image] for image in sorted(candidates)[:200]}, references)
    assert cider(corpus) == pycocoevalcaps(corpus)


def test_48_references_are_pycocoevalcaps(shared_data):
    lines = (shared_data / "flickr30k_test1k" / "test_caps.txt").read_text().splitlines()
    references = {image: lines[49 * image + 1 : 49 * (image + 1)] for image in range(20)}
    corpus = Corpus({image: lines[49 * image] for image in references}, references)
    assert {len(texts) for texts in references.values()} == {48}
    assert cider(corpus) == pycocoevalcaps(corpus)


@pytest.mark.parametrize(
    ("references", "reason"),
    [({1: ["a cat"]}, "two images"), ({1: [""], 2: [""]}, "no reference has a word")],
)
def test_where_it_is_undefined_is_a_reason_and_not_zero(references, reason):
    with pytest.raises(UnavailableError, match=reason):
        cider(Corpus(dict.fromkeys(references, "a cat"), references))


def test_candidates_without_a_word_score_zero():
    assert cider(Corpus({1: "", 2: ""}, {1: ["a cat"], 2: [""]})) == {1: 0.0, 2: 0.0}
