from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from scipy.stats import spearmanr
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.icc import packed
from filters.icc import scorer as module
from filters.icc.packed import attend_to_all, pack
from filters.icc.scorer import DistilledScorer
from tests.demos import demo_model
from tests.filters.checkpoints import roberta_scorer
from tests.pools import numbered_uids

CPU = torch.device("cpu")
CAPTIONS = [
    "a photo of thing number 1",
    "x",
    "red ball " * 200,
    "🐕🐈",
    "...!?",
    "\x00",
    "a red ball",
    "的" * 30,
]


def scorer(folder: Path, **options: Any) -> DistilledScorer:
    made = DistilledScorer(str(roberta_scorer(folder)), **options)
    made.setup(CPU)
    return made


def batch(captions: Sequence[str]) -> Batch:
    return Batch(numbered_uids(len(captions)), list(captions))


@pytest.mark.parametrize("budget", [1, 64])
def test_neither_order_nor_budget_changes_a_score(tmp_path: Path, budget: int) -> None:
    made = scorer(tmp_path)
    made._budget = budget
    alone = np.concatenate([made.score(batch([c])) for c in CAPTIONS])
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(CAPTIONS))
        assert made.score(batch([CAPTIONS[i] for i in order])) == pytest.approx(alone[order], abs=1e-5)


def test_attention_to_all_captions_at_once_is_an_operation_of_this_torch() -> None:
    """Only shapes: a GPU computes it, see tests/gpu."""
    query, key, value = torch.empty(3, 50, 64, dtype=torch.bfloat16, device="meta")
    bounds = torch.empty(6, dtype=torch.int32, device="meta")
    for rows in (query, query[:5]):
        assert attend_to_all(rows, key, value, bounds, 20, 4).shape == rows.shape


def by_transformers(folder: Path, captions: Sequence[str]) -> list[float]:
    """The logit of each caption, one per call, by transformers' own model."""
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    positions = model.config.max_position_embeddings - 2 * (model.config.model_type == "roberta")
    logits = []
    for caption in captions:
        length = min(tokenizer.model_max_length, positions)
        inputs = tokenizer(caption, truncation=True, max_length=length, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        logits.append(model(**inputs).logits.item())
    return logits


@pytest.mark.parametrize("kind", ["Bert", "DistilBert", "Roberta"])
def test_any_text_encoder_scores_as_transformers_does(tmp_path: Path, kind: str) -> None:
    tokenizer = AutoTokenizer.from_pretrained(demo_model("bert" if "Bert" in kind else "roberta"))
    sizes = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
    if kind == "DistilBert":
        sizes = {"n_layers": 2, "dim": 32, "n_heads": 2, "hidden_dim": 64}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), num_labels=1, pad_token_id=tokenizer.pad_token_id, **sizes
    )
    getattr(transformers, f"{kind}ForSequenceClassification")(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    made = DistilledScorer(str(tmp_path), "fp32")
    made.setup(CPU)
    assert made.score(batch(CAPTIONS)) == pytest.approx(by_transformers(tmp_path, CAPTIONS), abs=1e-5)


BAD = {
    "nothing but empty captions": ["", "", ""],
    "blanks": [" ", "\n\t", "\u200b", "a red ball"],
    "10,000 characters": ["x" * 10_000, "red ball " * 1111, "a red ball"],
    "the tokenizer's own words": ["<s>", "<pad><pad> red <pad>", "</s></s>", "<mask>", "<unk>"],
    "a length that occurs once": ["a red ball"] * 5 + ["the meaning of life 0123456789"],
    "none": [],
}


@pytest.mark.parametrize(("precision", "within"), [("fp32", 1e-5), ("bf16", 0.2)])
def test_bad_captions_score_as_in_transformers(tmp_path: Path, precision: str, within: float) -> None:
    made = scorer(tmp_path, precision=precision)
    alone = iter(by_transformers(tmp_path, [caption for captions in BAD.values() for caption in captions]))
    for name, captions in BAD.items():
        expected = [next(alone) for _ in captions]
        assert made.score(batch(captions)) == pytest.approx(expected, abs=within), name


def test_tokenising_in_advance_changes_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = scorer(tmp_path)
    made._budget = 64
    rng = np.random.default_rng(1)
    captions = ["red ball thing of life"[: rng.integers(0, 22)] + str(i) for i in range(50)]
    whole = made.score(batch(captions))
    monkeypatch.setattr(module, "BLOCK", 7)
    made._threads = 3
    assert made.score(batch(captions)) == pytest.approx(whole, abs=1e-5)


def test_bf16_ranks_like_fp32_on_a_trained_scorer() -> None:
    captions = [f"{a} {b} {c}" for a in ("a red", "the idea of", "two") for b in ("boat", "hope", "dogs", "day")
                for c in ("", "on a lake", "for all", "in the grass", "of success")]  # fmt: skip
    scores = []
    for precision in ("fp32", "bf16"):
        made = DistilledScorer(f"{demo_model('icc')}/icc/distilled/model", precision)
        made.setup(CPU)
        scores.append(made.score(batch(captions)))
    assert 0 < np.abs(scores[0] - scores[1]).max() < 0.1 * scores[0].std()
    assert spearmanr(*scores).statistic > 0.999


def test_only_weights_in_other_files_need_transformers_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(packed, "load_model", None)
        wanted = scorer(tmp_path).score(batch(CAPTIONS))
    made = DistilledScorer(str(tmp_path))
    weights = load_file(tmp_path / "model.safetensors")
    torch.save(weights, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    made.setup(CPU)
    assert (made.score(batch(CAPTIONS)) == wanted).all()


def test_unusable_checkpoints_are_refused(tmp_path: Path) -> None:
    weights = load_file(roberta_scorer(tmp_path) / "model.safetensors")
    name = "roberta.encoder.layer.1.output.LayerNorm.bias"
    for broken, message in (({name: weights[name][:-1]}, "does not load"), ({}, "lacks 1 weights")):
        others = {other: weight for other, weight in weights.items() if other != name}
        save_file(others | broken, tmp_path / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(UserError, match=message):
            DistilledScorer(str(tmp_path)).setup(CPU)
    with pytest.raises(UserError, match="one label, not 2"):
        DistilledScorer(str(roberta_scorer(tmp_path / "two", labels=2))).setup(CPU)
    for file in roberta_scorer(tmp_path / "untold").glob("*token*"):
        file.unlink()
    with pytest.raises(UserError, match="lacks the files of its tokenizer"):
        DistilledScorer(str(tmp_path / "untold")).setup(CPU)


def test_precision_is_part_of_the_key(tmp_path: Path) -> None:
    folder = str(roberta_scorer(tmp_path))
    keys = {DistilledScorer(folder, precision).key() for precision in ("fp32", "bf16")}
    assert DistilledScorer(folder).key() in keys
    assert len(keys) == 2


def test_passes_keep_the_budget_and_lose_nothing() -> None:
    rng = np.random.default_rng(0)
    lengths = [*rng.integers(1, 60, 500).tolist(), 300]
    captions = [rng.integers(0, 9, length).tolist() for length in lengths]
    order, in_order = pack(captions)
    passes = list(in_order.passes(256))
    assert np.concatenate([part.ids for part in passes]).tolist() == [
        i for row in order for i in captions[row]
    ]
    assert np.concatenate([part.lengths for part in passes]).tolist() == sorted(lengths)
    assert [part.lengths.sum() <= 256 for part in passes] == [True] * (len(passes) - 1) + [False]
    assert len(passes) < sum(lengths) / 256 * 1.2
