import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy.stats import spearmanr

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.icc import packed
from filters.icc import scorer as module
from filters.icc.packed import pack
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


def scorer(folder, **options) -> DistilledScorer:
    made = DistilledScorer(str(roberta_scorer(folder)), **options)
    made.setup(CPU)
    return made


def batch(captions) -> Batch:
    return Batch(numbered_uids(len(captions)), list(captions))


@pytest.mark.parametrize("budget", [1, 64, 100_000])
def test_neither_order_nor_budget_changes_a_score(tmp_path, budget: int) -> None:
    made = scorer(tmp_path, token_budget=budget)
    alone = np.concatenate([made.score(batch([c])) for c in CAPTIONS])
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(CAPTIONS))
        assert made.score(batch([CAPTIONS[i] for i in order])) == pytest.approx(alone[order], abs=1e-5)


@pytest.mark.parametrize("kind", ["Bert", "DistilBert", "Roberta"])
def test_any_text_encoder_scores_as_transformers_does(tmp_path, kind: str) -> None:
    import transformers

    folder = demo_model("bert" if "Bert" in kind else "roberta")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    sizes = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 64}
    if kind == "DistilBert":
        sizes = {"n_layers": 2, "dim": 32, "n_heads": 2, "hidden_dim": 64}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), num_labels=1, pad_token_id=tokenizer.pad_token_id, **sizes
    )
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config).eval()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    made = DistilledScorer(str(tmp_path), "fp32")
    made.setup(CPU)
    length = min(tokenizer.model_max_length, config.max_position_embeddings - 2 * (kind == "Roberta"))
    expected = []
    for caption in CAPTIONS:
        inputs = tokenizer(caption, truncation=True, max_length=length, return_tensors="pt")
        inputs.pop("token_type_ids", None)
        expected.append(model(**inputs).logits.item())
    assert made.score(batch(CAPTIONS)) == pytest.approx(expected, abs=1e-5)


BAD = {
    "one empty caption in the set": [""],
    "nothing but empty captions": ["", "", ""],
    "blanks": [" ", "\n\t", "\u200b", "a red ball"],
    "10,000 characters": ["x" * 10_000, "red ball " * 1111, "a red ball"],
    "emoji and punctuation": ["🐕🐈" * 40, "?!…", "—", "👩‍👩‍👧", ",,,,"],
    "the tokenizer's own words": ["<s>", "<pad><pad> red <pad>", "</s></s>", "<mask>", "<unk>"],
    "a length that occurs once": ["a red ball"] * 5 + ["the meaning of life 0123456789"],
    "one caption": ["a photo of thing number 1"],
    "none": [],
}


@pytest.mark.parametrize("captions", BAD.values(), ids=BAD)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_bad_captions_get_the_score_that_transformers_gives_them(tmp_path, captions, precision: str) -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    scores = scorer(tmp_path, precision=precision).score(batch(captions))
    assert scores.shape == (len(captions),)
    assert np.isfinite(scores).all()
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    alone = []
    for caption in captions:
        inputs = tokenizer(caption, truncation=True, max_length=62, return_tensors="pt")
        alone.append(model(**inputs).logits.item())
    assert scores == pytest.approx(alone, abs=1e-5 if precision == "fp32" else 0.2)


def test_tokenising_in_advance_changes_no_score(tmp_path, monkeypatch) -> None:
    made = scorer(tmp_path, token_budget=64)
    rng = np.random.default_rng(1)
    captions = ["red ball thing of life"[: rng.integers(0, 22)] + str(i) for i in range(100)]
    whole = made.score(batch(captions))
    monkeypatch.setattr(module, "BLOCK", 7)
    assert made.score(batch(captions)) == pytest.approx(whole, abs=1e-5)
    made._threads = 3
    assert made.score(batch(captions)) == pytest.approx(whole, abs=1e-5)


@pytest.mark.slow
def test_bf16_ranks_like_fp32_on_a_trained_scorer(tmp_path) -> None:
    captions = trained_scorer(tmp_path)
    full, half = DistilledScorer(str(tmp_path), "fp32"), DistilledScorer(str(tmp_path), "bf16")
    full.setup(CPU)
    half.setup(CPU)
    wanted, fast = full.score(batch(captions)), half.score(batch(captions))
    assert 0 < np.abs(wanted - fast).max() < 0.1 * wanted.std()
    assert spearmanr(wanted, fast).statistic > 0.999
    top = len(captions) * 3 // 10
    kept = set(np.argsort(-wanted)[:top]) & set(np.argsort(-fast)[:top])
    assert len(kept) / top > 0.98


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_gives_the_processors_scores(tmp_path) -> None:
    captions = CAPTIONS * 500
    for precision, far in (("fp32", 1e-3), ("bf16", 0.2)):
        made = scorer(tmp_path, precision=precision)
        wanted = made.score(batch(captions))
        made.setup(torch.device("cuda"))
        assert made.score(batch(captions)) == pytest.approx(wanted, abs=far)


def trained_scorer(folder) -> list[str]:
    """Train a scorer to tell the share of "red" among a caption's words; return captions that it did not see."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    roberta_scorer(folder, initializer_range=0.1)
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rng = np.random.default_rng(0)
    words = [rng.choice(["red", "ball", "life", "thing"], rng.integers(3, 12)) for _ in range(1600)]
    target = torch.tensor([float((w == "red").mean() * 4 - 1) for w in words])
    captions = [" ".join(w) for w in words]
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    model.eval()  # no dropout: nothing here is random but the seeded captions
    for start in [*range(0, 1200, 40)] * 3:
        inputs = tokenizer(captions[start : start + 40], padding=True, return_tensors="pt")
        loss = (model(**inputs).logits[:, 0] - target[start : start + 40]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.1
    model.save_pretrained(folder)
    return captions[1200:]


def test_only_weights_in_other_files_need_transformers_model(tmp_path, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(packed, "load_model", None)
        wanted = scorer(tmp_path).score(batch(CAPTIONS))
    made = DistilledScorer(str(tmp_path))
    weights = load_file(tmp_path / "model.safetensors")
    torch.save(weights, tmp_path / "pytorch_model.bin")
    (tmp_path / "model.safetensors").unlink()
    made.setup(CPU)
    assert (made.score(batch(CAPTIONS)) == wanted).all()


@pytest.mark.parametrize("name", ["classifier.dense.weight", "roberta.encoder.layer.1.output.LayerNorm.bias"])
def test_missing_or_misshapen_weights_are_refused(tmp_path, name: str) -> None:
    weights = load_file(roberta_scorer(tmp_path) / "model.safetensors")
    for broken in ({name: weights[name][:-1]}, {}):
        others = {other: weight for other, weight in weights.items() if other != name}
        save_file(others | broken, tmp_path / "model.safetensors", metadata={"format": "pt"})
        with pytest.raises(UserError, match=r"lacks 1 weights|does not load"):
            DistilledScorer(str(tmp_path)).setup(CPU)


def test_a_checkpoint_with_two_labels_is_refused(tmp_path) -> None:
    with pytest.raises(UserError, match="one label, not 2"):
        DistilledScorer(str(roberta_scorer(tmp_path, labels=2))).setup(CPU)


def test_other_weights_have_another_key(tmp_path) -> None:
    one = DistilledScorer(str(roberta_scorer(tmp_path / "m")))
    budget = DistilledScorer(str(tmp_path / "m"), token_budget=9)
    other = DistilledScorer(str(roberta_scorer(tmp_path / "n", layers=1)))
    assert one.key() == budget.key() != other.key()
    keys = {DistilledScorer(str(tmp_path / "m"), precision).key() for precision in ("fp32", "bf16")}
    assert len(keys) == 2
    assert one.key() in keys


def test_a_checkpoint_without_its_tokenizer_is_refused(tmp_path) -> None:
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig(
        vocab_size=64, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, num_labels=1
    )
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    with pytest.raises(UserError, match="lacks the files of its tokenizer"):
        DistilledScorer(str(tmp_path)).setup(CPU)


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
