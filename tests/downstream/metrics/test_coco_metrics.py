import itertools
import math
import random

import pytest
import torch

from benchmark.core.errors import UserError
from downstream.evaluation.captioning import read_coco_results
from downstream.metrics.base import Request
from downstream.metrics.coco_metrics import Cider, bleu, bleu_counts, cider, rouge_l
from downstream.metrics.metric import Corpus, UnavailableError


def bleu_of(corpus: Corpus) -> dict[str, float]:
    return bleu(list(bleu_counts(corpus).values()))


def test_bleu_by_hand(capsys):
    corpus = Corpus(
        {1: "the cat sat on the mat", 2: "a dog runs"}, {1: ["the cat is on the mat"], 2: ["a dog runs fast"]}
    )
    # Matches of all: 1-grams 5 of 6 and 3 of 3, 2-grams 3 of 5 and 2 of 2, 3-grams 1 of 4 and 1 of 1,
    # 4-grams 0 of 3 and 0 of 0. 9 words for 10.
    brevity = math.exp(1 - 10 / 9)
    scores = bleu_of(corpus)
    assert scores["BLEU-1"] == pytest.approx(8 / 9 * brevity)
    assert scores["BLEU-2"] == pytest.approx((8 / 9 * 5 / 7) ** (1 / 2) * brevity)
    assert scores["BLEU-3"] == pytest.approx((8 / 9 * 5 / 7 * 2 / 5) ** (1 / 3) * brevity)
    assert scores["BLEU-4"] < 5e-4
    assert capsys.readouterr().out == ""


def test_bleu_clips_counts_and_takes_the_closest_length():
    corpus = Corpus({1: "the the the the"}, {1: ["the cat", "the cat the dog runs home now"]})
    # "the" counts twice at most; 4 words are closer to 2 than to 7, so nothing is taken off for brevity.
    assert bleu_of(corpus)["BLEU-1"] == pytest.approx(2 / 4)


def test_bleu_is_that_of_pycocoevalcap_to_the_last_digit():
    from pycocoevalcap.bleu.bleu import Bleu

    draw, vocabulary = random.Random(0), ["a", "the", "dog", "cat", "red", "on", "runs"]
    for words, images in itertools.product((1, 3, 7, 12), (1, 2, 40)):
        captions = [" ".join(draw.choices(vocabulary, k=draw.randint(1, words))) for _ in range(4 * images)]
        candidates = dict(enumerate(captions[:images]))
        references = {image: captions[image + images :: images] for image in candidates}
        expected, _ = Bleu(4).compute_score(references, {i: [c] for i, c in candidates.items()}, verbose=0)
        assert list(bleu_of(Corpus(candidates, references)).values()) == expected


def test_rouge_by_hand():
    corpus = Corpus({1: "a b c d", 2: "x"}, {1: ["a c d e f", "q"], 2: ["y"]})
    # Longest common subsequence a c d: precision 3/4, recall 3/5.
    expected = (1 + 1.2**2) * 0.75 * 0.6 / (0.6 + 1.2**2 * 0.75)
    assert rouge_l(corpus) == pytest.approx({1: expected, 2: 0.0})


def test_references_of_other_images_are_left_out():
    corpus = Corpus({2: "two dogs", 1: "a cat"}, {1: ["a cat"], 2: ["two dogs"], 3: ["a dog"]})
    assert bleu_of(corpus)["BLEU-1"] == pytest.approx(1)
    assert rouge_l(corpus) == {2: 1.0, 1: 1.0}
    assert cider(corpus) == pytest.approx({2: 5, 1: 5})


def cider_of(corpus, domains, monkeypatch):
    monkeypatch.setattr("downstream.metrics.base.tokenize_corpus", lambda corpus: corpus)
    return Cider().compute(Request(corpus, domains, None, torch.device("cpu")))


def test_parts_of_a_set_average_to_its_cider(monkeypatch):
    draw, words = random.Random(0), ["a", "the", "dog", "cat", "red", "on", "runs", "sits", "of", "park"]
    captions = [" ".join(draw.choices(words, k=draw.randint(4, 9))) for _ in range(160)]
    ids = list(range(40))  # most images are of one domain, as in NoCaps
    domains = {"nocaps": ids, "nocaps/in": ids[:4], "nocaps/near": ids[4:20], "nocaps/out": ids[20:]}
    corpus = Corpus(dict(zip(ids, captions, strict=False)), {i: captions[i + 40 :: 40] for i in ids})
    table = cider_of(corpus, domains, monkeypatch)
    whole = table.pop("nocaps")

    def average(metric):
        return sum(len(domains[name]) * row[metric] for name, row in table.items()) / len(ids)

    assert average("CIDEr") == pytest.approx(whole["CIDEr"], abs=1e-12)
    assert abs(average("CIDEr_own_df") - whole["CIDEr"]) > 0.001
    assert list(whole) == ["CIDEr"]


def test_a_part_of_one_image_has_the_sets_frequencies(monkeypatch):
    captions = {1: "a black cat sits", 2: "two dogs"}
    corpus = Corpus(captions, {image: [caption] for image, caption in captions.items()})
    table = cider_of(corpus, {"set": [1, 2], "set/one": [2], "other": [1]}, monkeypatch)
    assert table["set/one"]["CIDEr"] == pytest.approx(5)
    assert "two images" in table["set/one"]["CIDEr_own_df"]
    assert list(table["other"]) == ["CIDEr"]
    assert "two images" in table["other"]["CIDEr"]


@pytest.mark.parametrize(
    ("references", "reason"),
    [({1: ["a cat"]}, "two images"), ({1: [""], 2: [""]}, "no reference has a word")],
)
def test_an_undefined_cider_is_a_reason_and_not_zero(references, reason):
    with pytest.raises(UnavailableError, match=reason):
        cider(Corpus(dict.fromkeys(references, "a cat"), references))
    assert cider(Corpus({1: "", 2: ""}, {1: ["a cat"], 2: [""]})) == {1: 0.0, 2: 0.0}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_the_first_row_of_an_image_counts(tmp_path, encoding):
    path = tmp_path / "results.json"
    path.write_text(
        '[{"image_id": 2, "caption": "one", "score": 0.5}, {"image_id": 1, "caption": ""},'
        ' {"image_id": "2", "caption": "two"}]',
        encoding,
    )
    assert read_coco_results(path) == {"2": "one", "1": ""}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "cannot be read"),
        ("[", "cannot be read"),
        ("[" * 200_000, "cannot be read"),
        ('{"images": []}', "a JSON list of rows, but holds a dict"),
        ('[{"image_id": 1, "caption": "a"}, {"image_id": 1}]', "row 1"),
        ('[{"image_id": 1, "caption": ["a"]}]', "row 0"),
    ],
)
def test_another_file_is_one_line(tmp_path, text, message):
    path = tmp_path / "results.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=message) as error:
        read_coco_results(path)
    assert "\n" not in str(error.value)
