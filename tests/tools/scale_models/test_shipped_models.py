"""The shipped scale models: in the formats of the original checkpoints, small, and better than chance."""

from typing import Any

import pytest
import torch
from safetensors import safe_open

from tools.demo_world.mix import CLEAN
from tools.scale_models import clip, gpt2, llama, masked_lm, supervised_pretraining
from tools.scale_models.data import HELD_OUT, Pairs, Scenes
from tools.scale_models.documents import END
from tools.scale_models.export import MODELS
from tools.scale_models.registry import SCRIPTS


@pytest.mark.parametrize(
    "name", [name for name in SCRIPTS if name not in ("parser", "cut")]
)  # in other formats
def test_shipped_weights_are_half_precision_safetensors(name: str) -> None:
    dtypes = set()
    for path in (MODELS / name).rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            dtypes |= {file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118, not a dict
    assert torch.float16 in dtypes
    assert torch.float32 not in dtypes


def test_shipped_models_are_small() -> None:
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 25_000_000


@pytest.mark.parametrize("name", ["swin", "vit"])
def test_image_models_load_like_originals_and_name_tags(name: str) -> None:
    from transformers import AutoImageProcessor, AutoModel, AutoModelForImageClassification

    folder = MODELS / name
    model = AutoModelForImageClassification.from_pretrained(folder, local_files_only=True)
    assert model.dtype == torch.float32
    backbone = AutoModel.from_pretrained(folder, local_files_only=True, add_pooling_layer=False)
    processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True)
    pixels = processor([Scenes(1, 0, HELD_OUT)[0][0]], return_tensors="pt")["pixel_values"]
    assert pixels.shape == (1, 3, 64, 64)
    with torch.no_grad():
        assert backbone(pixels).last_hidden_state.isfinite().all()
    figures = supervised_pretraining.evaluate(folder, 64, 0)
    assert figures["place"] > 0.9  # of 12
    assert figures["thing"] > 0.35  # of 46; the most frequent ones as a guess find about a fifth


def test_gpt2_loads_like_the_original_and_predicts_text() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(MODELS / "gpt2", local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "gpt2", local_files_only=True)
    assert type(model).__name__ == "GPT2LMHeadModel"
    assert model.dtype == torch.float32
    assert tokenizer.eos_token == tokenizer.bos_token == "<|endoftext|>"
    assert tokenizer.pad_token is None
    assert tokenizer.eos_token_id == model.config.eos_token_id == len(tokenizer) - 1
    text = "A café — 50% off 🎈"
    assert tokenizer.decode(tokenizer(text).input_ids) == text
    figures = gpt2.evaluate(MODELS / "gpt2", 200, 0)
    assert figures["perplexity"] < figures["uniform"] / 20


def test_bert_loads_like_the_original_and_fills_masks() -> None:
    from transformers import AutoModel, AutoTokenizer

    model, info = AutoModel.from_pretrained(MODELS / "bert", local_files_only=True, output_loading_info=True)
    assert not info["missing_keys"]  # the pooler is there, as in bert-base-uncased
    assert model.dtype == torch.float32
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "bert", local_files_only=True)
    first, last = tokenizer("A RED ball").input_ids[0], tokenizer("A RED ball").input_ids[-1]
    assert (first, last) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    assert tokenizer("A RED ball").input_ids == tokenizer("a red ball").input_ids
    assert tokenizer.pad_token_id == 0
    assert masked_lm.evaluate(MODELS / "bert", 200, 0)["masked_word_accuracy"] > 0.2


def test_roberta_loads_like_the_original_and_fills_masks() -> None:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    folder = MODELS / "roberta"
    scorer = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert type(scorer).__name__ == "RobertaForSequenceClassification"
    assert scorer.dtype == torch.float32
    special = (tokenizer.bos_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id)
    assert special == (0, 1, 2, 3)
    assert tokenizer.mask_token_id == len(tokenizer) - 1
    batch = tokenizer(
        ["word " * 500, "A café — 50% off 🎈"], truncation=True, padding=True, return_tensors="pt"
    )
    assert batch["input_ids"].shape == (2, 128)
    assert tokenizer.decode(batch["input_ids"][1], skip_special_tokens=True) == "A café — 50% off 🎈"
    with torch.no_grad():
        assert scorer(**batch).logits.shape == (2, 1)
    assert masked_lm.evaluate(folder, 200, 0)["masked_word_accuracy"] > 0.15


def test_llama_loads_like_the_original_and_uses_context() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(MODELS / "llama", local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "llama", local_files_only=True)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert model.dtype == torch.float32
    assert None not in (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    assert len(tokenizer("\n", add_special_tokens=False).input_ids) == 1
    figures = llama.evaluate(MODELS / "llama", 100, 0)
    assert figures["perplexity"] < figures["uniform"] / 50
    # What SBA needs: that the first line decides the second.
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
