import shutil

import pytest
import torch

from benchmark.core.errors import UserError
from downstream.metrics import bertscore as module
from downstream.metrics.bertscore import BertScore
from downstream.metrics.metric import Corpus
from tests.demos import demo_model

CPU = torch.device("cpu")
PAIRS = {
    "a cat sits on the mat": ["the cat is on a mat", "a dog runs"],
    "a big red dog": ["a big red dog"],
    "two dog": ["photo of two dog and a cat in the park", "two dog and a man", "two dog"],
    "table": ["a photo of a man under a table"],
}
CORPUS = Corpus(dict(enumerate(PAIRS, 1)), dict(enumerate(PAIRS.values(), 1)))


# Values of `bert_score.score` of bert-score 0.3.13, with transformers 5.
FROM_BERT_SCORE = {
    ("bert", 2): [0.580441, 0.766459, 0.518526, 0.775754],
    ("bert", 1): [0.56987, 0.755088, 0.489851, 0.747446],
    ("roberta", 2): [0.693511, 0.754125, 0.599143, 0.804644],
}
PUBLISHED = {
    "a black dog runs over the wet sand": ["a dog on the beach", "the black dog is running", "boats"],
    "two cups and a red teapot on a table": ["a red teapot beside two white cups"],
    "summer sale, free shipping!": [
        "a woman with an umbrella in the rain",
        "free shipping on all summer clothes",
    ],
    "mountains": ["snow on mountains"],
}


@pytest.mark.parametrize(("encoder", "layers"), FROM_BERT_SCORE)
def test_scores_are_those_of_bert_score_itself(encoder, layers):
    corpus = Corpus(dict(enumerate(PUBLISHED)), dict(enumerate(PUBLISHED.values())))
    scores = BertScore(demo_model(encoder), layers).scores(corpus, CPU)
    assert list(scores.values()) == pytest.approx(FROM_BERT_SCORE[encoder, layers], abs=1e-5)


def test_parts_do_not_change_scores(tiny_roberta, monkeypatch):
    metric = BertScore(str(tiny_roberta), 2)
    whole = metric.scores(CORPUS, CPU)
    monkeypatch.setattr(module, "IMAGES_AT_ONCE", 1)
    assert metric.scores(CORPUS, CPU) == pytest.approx(whole, abs=1e-6)


def test_the_baseline_of_the_layer_rescales(tiny_roberta, tmp_path):
    raw = BertScore(str(tiny_roberta), 2).scores(CORPUS, CPU)
    baseline = tmp_path / "baseline.tsv"
    baseline.write_text("LAYER,P,R,F\n0,0.1,0.1,0.1\n1,0.2,0.2,0.2\n2,0.3,0.4,0.5\n3,0.9,0.9,0.9\n")
    rescaled = BertScore(str(tiny_roberta), 2, str(baseline)).scores(CORPUS, CPU)
    assert rescaled == pytest.approx({image: (value - 0.5) / 0.5 for image, value in raw.items()})


def test_empty_texts_score_zero_and_leave_the_others_as_they_are(tiny_roberta):
    corpus = Corpus(
        {**CORPUS.candidates, 5: "", 6: " ", 7: "a cat", 8: "\u200b", 9: "a cat"},
        {**CORPUS.references, 5: ["a cat"], 6: [""], 7: ["", " "], 8: ["a cat"], 9: ["", "the cat sits"]},
    )
    metric = BertScore(str(tiny_roberta), 2)
    scores = metric.scores(corpus, CPU)
    assert [scores.pop(image) for image in (5, 6, 7)] == [0, 0, 0]
    del scores[8]
    without = Corpus({**CORPUS.candidates, 9: "a cat"}, {**CORPUS.references, 9: ["the cat sits"]})
    assert scores == pytest.approx(metric.scores(without, CPU), abs=1e-6)


def test_a_long_caption_is_cut_to_the_encoders_positions(tiny_roberta):
    long = "cat " * 2500
    scores = BertScore(str(tiny_roberta), 3).scores(Corpus({1: long}, {1: [long, "a dog"]}), CPU)
    assert scores[1] == pytest.approx(1, abs=1e-6)


def test_an_encoder_without_its_weights_is_not_a_random_encoder(tiny_roberta, tmp_path):
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "encoder"
    shutil.copytree(tiny_roberta, folder)
    weights = load_file(folder / "model.safetensors")
    kept = {key: value for key, value in weights.items() if "layer.1.output" not in key}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=r"lacks 4 weights of \w+: encoder\.layer\.1\.output"):
        BertScore(str(folder), 2).scores(CORPUS, CPU)
    assert BertScore(str(folder), 1).scores(CORPUS, CPU)  # the layer is not needed


def test_settings_that_do_not_fit_the_encoder_are_user_errors(tiny_roberta, tmp_path):
    for layers in (0, 4):
        with pytest.raises(UserError, match="must be from 1 to 3"):
            BertScore(str(tiny_roberta), layers).scores(CORPUS, CPU)
    baseline = tmp_path / "baseline.tsv"
    for text in (None, "LAYER,P,R,F\n0,0.1,0.1,0.1\n", "hello\n"):
        if text is not None:
            baseline.write_text(text)
        with pytest.raises(UserError, match="must be a baseline file of bert-score"):
            BertScore(str(tiny_roberta), 2, str(baseline)).scores(CORPUS, CPU)
