"""Training of the scale models: reproducible weights, the loop, tags, masking, tokenizers and documents."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pairsift.demo.world import Scene, Thing
from tools.scale_models import bridge_gate, gpt2, masked_lm, summaries
from tools.scale_models.data import HELD_OUT, Scenes
from tools.scale_models.described_scenes import DESCRIPTIONS, described_scenes
from tools.scale_models.documents import documents, keywords
from tools.scale_models.loop import Recipe, by_length, cosine, fit, seeded, shuffled
from tools.scale_models.registry import SCRIPTS
from tools.scale_models.scene_tags import FAMILIES, r_precision, tags
from tools.scale_models.tokenizers import bert_tokenizer, llama_tokenizer

RECIPE = Recipe(steps=2, batch=8, lr=1e-3, workers=0)
TINY: dict[str, dict[str, Any]] = {
    "swin": {"scenes": 256, "depths": (1, 1), "heads": (2, 4)},
    "vit": {"scenes": 256, "width": 32, "layers": 1, "heads": 2},
    "gpt2": {"captions": 200, "scenes": 50, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "bert": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "roberta": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "llama": {"captions": 100, "vocabulary": 400, "width": 32, "inner": 32, "layers": 1, "heads": 2},
    "clip": {"pairs": 64, "captions": 200, "vocabulary": 400, "width": 32, "text_layers": 1},
    "diffusion": {"pairs": 64, "pictures": 32, "vocabulary": 600, "width": (8, 16), "autoencoder": RECIPE},
    "parser": {"captions": 50, "width": 16, "rows": 50, "hidden": 16},
    "blip": {"pairs": 64, "vocabulary": 200, "width": 32, "layers": 1},
    "pacscore": {"pairs": 16},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "cut"])  # which is not trained
def test_training_twice_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    script = SCRIPTS[name]
    config = replace(script.config, recipe=RECIPE, **TINY[name])
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
        torch.rand(3)  # the global generator's state is not what decides
        script.train(folder, config, torch.device("cpu"))
    first, second = ({p.relative_to(f): p.read_bytes() for p in f.rglob("*") if p.is_file()} for f in folders)
    assert first == second
    assert any(file.suffix == ".safetensors" or file.name == "model" for file in first)


def test_a_seed_changes_the_weights(tmp_path: Path) -> None:
    written = []
    for seed in (0, 1):
        folder = tmp_path / str(seed)
        folder.mkdir()
        config = replace(SCRIPTS["gpt2"].config, recipe=replace(RECIPE, seed=seed), **TINY["gpt2"])
        gpt2.train(folder, config, torch.device("cpu"))
        written.append((folder / "model.safetensors").read_bytes())
    assert written[0] != written[1]


def test_the_loop_restores_the_global_generator() -> None:
    before = torch.get_rng_state()
    with seeded(5):
        torch.rand(10)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.are_deterministic_algorithms_enabled()


def test_learning_rates_warm_up_and_decay_as_a_cosine() -> None:
    rates = [cosine(step, 100, 0.1) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[99] == pytest.approx(0.5 * (1 + math.cos(math.pi * 89 / 90)))


def test_every_pass_contains_every_sample_once() -> None:
    recipe = Recipe(steps=6, batch=4, lr=1.0)
    rows = torch.cat(list(shuffled(12, recipe))).tolist()
    assert sorted(rows[:12]) == sorted(rows[12:]) == list(range(12))
    assert rows[:12] != rows[12:]


def test_batches_by_length_have_all_items_and_similar_lengths() -> None:
    items = ["x" * (1 + index * 7 % 12) for index in range(12)]
    batches = list(by_length(items, Recipe(steps=6, batch=4, lr=1.0), window=3))
    assert (
        sorted(torch.cat(batches[:3]).tolist()) == sorted(torch.cat(batches[3:]).tolist()) == list(range(12))
    )
    for batch in batches:
        lengths = sorted(len(items[row]) for row in batch)
        assert lengths[-1] - lengths[0] == 3


def test_tags_and_r_precision_equal_hand_computed_values() -> None:
    ball = Thing("ball", "red", "small", "plain", 1, "rolling")
    ball_tags = tags(Scene((ball,), "", "beach"))
    assert {"thing:ball", "colour:red", "size:small", "count:1", "action:rolling", "place:beach"} <= ball_tags
    assert {tag.split(":")[0] for tag in ball_tags} <= set(FAMILIES)
    names = ["place:beach", "thing:ball", "thing:cat", "thing:dog"]
    targets = torch.tensor([[1.0, 1, 1, 0], [1.0, 0, 0, 1]])
    scores = torch.tensor([[0.0, 3, 1, 2], [0.0, 1, 2, 3]])
    # First: best two are ball and dog, one of two true. Second: best one is dog, true. Two of three.
    assert r_precision(scores, targets, names) == {"thing": pytest.approx(2 / 3), "place": 1.0}


def test_masking_changes_only_target_tokens() -> None:
    tokenizer = bert_tokenizer(["a red ball on the beach", "two dogs"] * 20, 200, 32)
    batch = tokenizer(["a red ball on the beach"] * 400, return_tensors="pt")
    masked = masked_lm.mask(batch, tokenizer, torch.Generator().manual_seed(0))
    guessed = masked["labels"] != masked_lm.IGNORED
    assert torch.equal(masked["labels"][guessed], batch["input_ids"][guessed])
    assert torch.equal(masked["input_ids"][~guessed], batch["input_ids"][~guessed])
    assert not guessed[:, [0, -1]].any()  # [CLS] and [SEP]
    assert guessed[:, 1:-1].float().mean().item() == pytest.approx(0.15, abs=0.03)
    hidden = masked["input_ids"][guessed] == tokenizer.mask_token_id
    assert hidden.float().mean().item() == pytest.approx(0.8, abs=0.06)


def test_a_scene_is_described_in_different_words() -> None:
    described = described_scenes(60, 0)
    assert {len(descriptions) for descriptions in described} == {DESCRIPTIONS}
    assert sum(len(set(descriptions)) == DESCRIPTIONS for descriptions in described) > 45


def test_a_line_break_is_a_token_of_its_own() -> None:
    tokenizer = llama_tokenizer(["A red ball.", "two dogs in 2019"] * 20, 300, 64)
    (line_break,) = tokenizer("\n", add_special_tokens=False).input_ids
    for text in ("A red ball.\nA red ball", "two dogs\n\n2019\n in"):
        ids = tokenizer(text).input_ids
        assert ids[0] == tokenizer.bos_token_id
        assert ids.count(line_break) == text.count("\n")
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
        pieces = tokenizer.convert_ids_to_tokens(ids)
        assert not any(len(piece) > 1 and "Ċ" in piece for piece in pieces)
        assert not any(len(piece) > 1 and any(map(str.isdigit, piece)) for piece in pieces)


def test_documents_are_a_caption_often_after_its_keywords() -> None:
    captions = [f"The red ball number {number} on a beach." for number in range(400)]
    pages = documents(captions, 0)
    assert pages == documents(captions, 0) != documents(captions, 1)
    assert all(page.endswith(f"{caption} \n") for page, caption in zip(pages, captions, strict=True))
    first = [page.split(" \n")[0] for page in pages if page.count(" \n") == 2]
    assert 0.6 < len(first) / len(pages) < 0.8
    assert {word for line in first[:50] for word in line.split() if not word.isdigit()} <= {
        "red", "ball", "number", "beach",
    }  # fmt: skip


def test_keywords_are_the_content_words() -> None:
    samples = [keywords("The red ball on a ball", np.random.default_rng(seed)) for seed in range(100)]
    assert set(samples) == {"red", "ball", "red ball", "ball red"}
    assert keywords("it is what it is", np.random.default_rng(0)) == "it is what it is"


def test_summaries_read_part_of_a_caption_and_no_end() -> None:
    rows = [torch.arange(1, 3 + size) for size in range(1, 9)] * 4
    batches = list(summaries.summary_batches(rows, 2, Recipe(steps=20, batch=8, lr=1.0)))
    for batch in batches:
        ends = (batch["caption_labels"] != masked_lm.IGNORED).sum(1).tolist()
        for ids, read, end in zip(batch["captions"], batch["read"], ends, strict=True):
            assert ids[:end].tolist() == list(range(1, end + 1))
            assert read[: end - 2].sum() >= 1
            assert not read[end - 2 :].any()
    share = sum(b["read"].sum() for b in batches) / sum((b["caption_labels"] > 0).sum() - 16 for b in batches)
    assert 1 - summaries.MAX_HIDDEN < share < 1


def test_a_language_model_learns_to_write_from_summaries() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    shape: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
    }
    rows = [torch.tensor([a, b, 1]) for a in range(2, 12) for b in range(2, 12)]
    recipe = Recipe(steps=60, batch=50, lr=2e-2)
    with seeded(0):
        llm = LlamaForCausalLM(LlamaConfig(vocab_size=12, bos_token_id=0, tie_word_embeddings=True, **shape))
        summarizer = summaries.Summarizer(32)
        batches = list(summaries.summary_batches(rows, 1, recipe))
        both = torch.nn.ModuleList([llm, summarizer])
        fit(
            both,
            batches,
            lambda b: summaries.summary_loss(llm, summarizer, b),
            recipe,
            torch.device("cpu"),
        )
    clean = {**batches[0], "noise": 0 * batches[0]["noise"], "read": (batches[0]["captions"] > 1).float()}
    # Two of ten tokens and the end: 1.54 nats per token by guessing, .23 if only their order is unknown.
    assert summaries.summary_loss(llm, summarizer, clean).item() < 1


def test_held_out_samples_lie_beyond_all_training_samples() -> None:
    longest = max(script.config.recipe.samples for script in SCRIPTS.values())
    assert longest < HELD_OUT
    assert Scenes(1, 0, HELD_OUT)[0][1] != Scenes(1, 0)[0][1]


def test_the_margin_compares_own_beams_with_anothers() -> None:
    texts = ["a red ball", "two blue dogs"]
    assert bridge_gate.margin(texts, [["x", "a red ball"], ["two blue dogs"]]) > 0.6
    assert bridge_gate.margin(texts, [["a cat"], ["a cat"]]) == 0.0
