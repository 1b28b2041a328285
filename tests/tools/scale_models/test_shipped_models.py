"""The shipped scale models: in the formats of the original checkpoints, small, and better than chance."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tools.demo_world.mix import CLEAN
from tools.scale_models import clip, gpt2, llama, masked_lm, supervised_pretraining
from tools.scale_models.data import HELD_OUT, Pairs
from tools.scale_models.documents import END
from tools.scale_models.export import MODELS
from tools.scale_models.registry import SCRIPTS


def test_shipped_weights_are_small_half_precision_safetensors() -> None:
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 25_000_000
    for name in SCRIPTS.keys() - {"parser", "cut"}:  # in other formats
        weights = [load_file(path) for path in (MODELS / name).rglob("*.safetensors")]
        dtypes = {tensor.dtype for of in weights for tensor in of.values()}
        assert torch.float16 in dtypes, name
        assert torch.float32 not in dtypes, name


@pytest.mark.parametrize(
    ("name", "loader", "kind", "evaluate", "samples"),
    [
        ("swin", "AutoModelForImageClassification", "Swin", supervised_pretraining.evaluate, 64),
        ("vit", "AutoModelForImageClassification", "ViT", supervised_pretraining.evaluate, 64),
        ("gpt2", "AutoModelForCausalLM", "GPT2LMHeadModel", gpt2.evaluate, 200),
        ("llama", "AutoModelForCausalLM", "LlamaForCausalLM", llama.evaluate, 100),
        ("bert", "AutoModel", "BertModel", masked_lm.evaluate, 1000),
        ("roberta", "AutoModelForSequenceClassification", "Roberta", masked_lm.evaluate, 200),
    ],
)
def test_models_load_like_the_originals_and_beat_chance(
    name: str, loader: str, kind: str, evaluate: Callable[..., dict[str, float]], samples: int
) -> None:
    import transformers

    model = getattr(transformers, loader).from_pretrained(MODELS / name, local_files_only=True)
    assert type(model).__name__.startswith(kind)
    assert model.dtype == torch.float32
    figures = evaluate(MODELS / name, samples, 0)
    if name in ("swin", "vit"):
        assert figures["place"] > 0.9  # of 12
        assert figures["thing"] > 0.35  # of 46; the most frequent ones as a guess find about a fifth
    elif name in ("bert", "roberta"):
        assert figures["masked_word_accuracy"] > {"bert": 0.2, "roberta": 0.15}[name]
    else:
        assert figures["perplexity"] < figures["uniform"] / {"gpt2": 20, "llama": 50}[name]


@pytest.mark.parametrize("name", ["gpt2", "bert", "roberta", "llama"])
def test_tokenizers_have_the_special_tokens_of_the_originals(name: str) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODELS / name, local_files_only=True)
    special = [tokenizer.bos_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id]
    text = "A café — 50% off 🎈"
    if name == "gpt2":
        assert tokenizer.eos_token == tokenizer.bos_token == "<|endoftext|>"
        assert (special[1], special[2]) == (None, len(tokenizer) - 1)
        assert tokenizer.decode(tokenizer(text).input_ids) == text
    elif name == "bert":
        ids = tokenizer("A RED ball").input_ids
        assert ids == tokenizer("a red ball").input_ids
        assert (ids[0], ids[-1], special[1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id, 0)
    elif name == "roberta":
        assert (special, tokenizer.mask_token_id) == ([0, 1, 2, 3], len(tokenizer) - 1)
        ids = tokenizer(["word " * 500, text], truncation=True, padding=True).input_ids
        assert {len(row) for row in ids} == {128}
        assert tokenizer.decode(ids[1], skip_special_tokens=True) == text
    else:
        assert None not in special[:3]
        assert len(tokenizer("\n", add_special_tokens=False).input_ids) == 1


def test_the_first_line_decides_what_llama_writes_second() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(MODELS / "llama", local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "llama", local_files_only=True)
    pages = [("dog red beach", "a red dog on the beach"), ("boat blue lake", "a blue boat on a lake")]
    losses = [[_nats(model, tokenizer, first, line) for _, line in pages] for first, _ in pages]
    assert losses[0][0] < losses[1][0] - 3
    assert losses[1][1] < losses[0][1] - 3


@torch.no_grad()
def _nats(model: Any, tokenizer: Any, first: str, line: str) -> float:
    """Return the loss of `line` after the line `first`, summed over its tokens."""
    head = len(tokenizer(f"{first}{END}").input_ids)
    ids = tokenizer(f"{first}{END}{line}", return_tensors="pt").input_ids
    logits = model(ids).logits[0, head - 1 : -1]
    return torch.nn.functional.cross_entropy(logits, ids[0, head:], reduction="sum").item()


def test_clip_loads_through_open_clip_and_ranks_matches_high() -> None:
    model, collate = clip.load(MODELS / "clip")
    assert collate.tokenizer("a red ball").shape == (1, model.context_length)
    assert model.vocab_size < 10_000
    images, texts = clip.embed(model, collate, Pairs("clip", 128, 0, HELD_OUT, CLEAN))
    cosines = images @ texts.T
    matches, all_pairs = cosines.diag(), cosines
    assert matches.mean() > all_pairs.mean() + all_pairs.std()
    ranks = (texts @ images.T).argsort(dim=1, descending=True).argsort(dim=1).diag()
    assert ranks.float().mean() < 128 / 4  # 64 by chance
