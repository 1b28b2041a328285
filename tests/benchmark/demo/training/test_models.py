"""The scale models: in the real checkpoints' formats, better than chance, and the same bytes when trained twice."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import safe_open

from benchmark.demo.training import clip, gpt2, llama, masked_lm, supervised_pretraining
from benchmark.demo.training.data import HELD_OUT, Pairs, Scenes
from benchmark.demo.training.documents import documents, keywords
from benchmark.demo.training.export import MODELS
from benchmark.demo.training.loop import Recipe, cosine, seeded, shuffled
from benchmark.demo.training.registry import SCRIPTS
from benchmark.demo.training.scene_tags import FAMILIES, r_precision, tags
from benchmark.demo.training.tokenizers import bert_tokenizer, llama_tokenizer
from benchmark.demo.world import Scene, Thing

RECIPE = Recipe(steps=2, batch=8, lr=1e-3, workers=0)
TINY: dict[str, dict[str, Any]] = {
    "swin": {"scenes": 256, "depths": (1, 1), "heads": (2, 4)},
    "vit": {"scenes": 256, "width": 32, "layers": 1, "heads": 2},
    "gpt2": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "bert": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "roberta": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "llama": {"documents": 100, "vocabulary": 400, "width": 32, "inner": 32, "layers": 1, "heads": 2},
    "clip": {"pairs": 64, "captions": 200, "vocabulary": 400, "width": 32, "text_layers": 1},
    "diffusion": {"pairs": 64, "pictures": 32, "vocabulary": 600, "width": (8, 16), "autoencoder": RECIPE},
    "parser": {"captions": 50, "width": 16, "rows": 50, "hidden": 16},
    "blip": {"pairs": 64, "vocabulary": 200, "width": 32, "layers": 1},
    "pacscore": {"pairs": 16},
}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", list(SCRIPTS))
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


def test_the_loop_leaves_the_global_generator_as_it_was() -> None:
    before = torch.get_rng_state()
    with seeded(5):
        torch.rand(10)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.are_deterministic_algorithms_enabled()


def test_rates_rise_and_fall_as_a_cosine() -> None:
    rates = [cosine(step, 100, 0.1) for step in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9] == rates[10] == 1.0
    assert rates[55] == pytest.approx(0.5)
    assert rates[99] == pytest.approx(0.5 * (1 + math.cos(math.pi * 89 / 90)))


def test_every_sample_comes_once_before_any_comes_again() -> None:
    recipe = Recipe(steps=6, batch=4, lr=1.0)
    rows = torch.cat(list(shuffled(12, recipe))).tolist()
    assert sorted(rows[:12]) == sorted(rows[12:]) == list(range(12))
    assert rows[:12] != rows[12:]


def test_tags_and_their_r_precision_by_hand() -> None:
    ball = Thing("ball", "red", "small", "plain", 1, "rolling")
    found = tags(Scene((ball,), "", "beach", "in"))
    assert {"thing:ball", "colour:red", "size:small", "count:1", "action:rolling", "place:beach"} <= found
    assert {tag.split(":")[0] for tag in found} <= set(FAMILIES)
    names = ["place:beach", "thing:ball", "thing:cat", "thing:dog"]
    targets = torch.tensor([[1.0, 1, 1, 0], [1.0, 0, 0, 1]])
    scores = torch.tensor([[0.0, 3, 1, 2], [0.0, 1, 2, 3]])
    # First: best two are ball and dog, one of two true. Second: best one is dog, true. Two of three.
    assert r_precision(scores, targets, names) == {"thing": pytest.approx(2 / 3), "place": 1.0}


def test_masking_changes_only_what_is_to_be_guessed() -> None:
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


def test_documents_say_at_their_start_what_follows() -> None:
    pages = documents("llm", 300, 0)
    assert pages == documents("llm", 400, 0)[:300]
    assert pages[0] != documents("llm", 1, 0, start=1)[0]
    assert {page.count("\n") for page in pages} == {1, 2, 3}
    assert all(page.endswith("\n") for page in pages)
    longer = [page.splitlines() for page in pages if page.count("\n") > 1]
    same = np.mean([_overlap(lines) for lines in longer])
    others = np.mean([_overlap([first[0], *second[1:]]) for first, second in pairwise(longer)])
    assert same > 0.5
    assert others < 0.15


def test_keywords_are_the_words_of_content() -> None:
    found = [keywords("The red ball on a ball", np.random.default_rng(seed)) for seed in range(100)]
    assert set(found) == {"red", "ball", "red ball", "ball red"}
    assert keywords("it is what it is", np.random.default_rng(0)) == "it is what it is"


def _overlap(lines: list[str]) -> float:
    """Return the share of the first line's words that the rest repeats."""
    words = [set(re.findall(r"\w+", line.lower())) for line in lines]
    return len(words[0] & set().union(*words[1:])) / max(1, len(words[0]))


def test_held_out_samples_are_none_that_training_reaches() -> None:
    longest = max(script.config.recipe.samples for script in SCRIPTS.values())
    assert longest < HELD_OUT
    assert Scenes(1, 0, HELD_OUT)[0][1] != Scenes(1, 0)[0][1]


# What follows is about the shipped weights.


@pytest.mark.parametrize("name", [name for name in SCRIPTS if name != "parser"])  # spaCy has its own format
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
def test_image_models_load_as_the_real_ones_and_name_what_scenes_show(name: str) -> None:
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


def test_gpt2_loads_as_the_real_one_and_predicts_text() -> None:
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


def test_bert_loads_as_the_real_one_and_guesses_words() -> None:
    from transformers import AutoModel, AutoTokenizer

    model, info = AutoModel.from_pretrained(MODELS / "bert", local_files_only=True, output_loading_info=True)
    assert not info["missing_keys"]  # the pooler is there, as in bert-base-uncased
    assert model.dtype == torch.float32
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "bert", local_files_only=True)
    first, last = tokenizer("A RED ball").input_ids[0], tokenizer("A RED ball").input_ids[-1]
    assert (first, last) == (tokenizer.cls_token_id, tokenizer.sep_token_id)
    assert tokenizer("A RED ball").input_ids == tokenizer("a red ball").input_ids
    assert tokenizer.pad_token_id == 0
    assert masked_lm.evaluate(MODELS / "bert", 200, 0)["masked_word_accuracy"] > 0.4


def test_roberta_loads_as_the_real_one_and_guesses_words() -> None:
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
    assert masked_lm.evaluate(folder, 200, 0)["masked_word_accuracy"] > 0.4


def test_llama_loads_as_the_real_one_and_predicts_what_pages_say() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(MODELS / "llama", local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(MODELS / "llama", local_files_only=True)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert model.dtype == torch.float32
    assert None not in (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    assert len(tokenizer("\n", add_special_tokens=False).input_ids) == 1
    figures = llama.evaluate(MODELS / "llama", 100, 0)
    assert figures["perplexity"] < figures["uniform"] / 100
    # What SBA needs: that the first line decides the second.
    pages = [("dog, red, beach", "a red dog on the beach"), ("boat, blue, lake", "a blue boat on a lake")]
    losses = [[_nats(model, tokenizer, first, line) for _, line in pages] for first, _ in pages]
    assert losses[0][0] < losses[1][0] - 3
    assert losses[1][1] < losses[0][1] - 3


@torch.no_grad()
def _nats(model: Any, tokenizer: Any, first: str, line: str) -> float:
    """Return the loss of `line` after the line `first`, summed over its tokens."""
    head = len(tokenizer(f"{first}\n").input_ids)
    ids = tokenizer(f"{first}\n{line}", return_tensors="pt").input_ids
    logits = model(ids).logits[0, head - 1 : -1]
    return torch.nn.functional.cross_entropy(logits, ids[0, head:], reduction="sum").item()


def test_clip_loads_through_open_clip_and_prefers_what_matches() -> None:
    model, collate = clip.load(MODELS / "clip")
    assert collate.tokenizer("a red ball").shape == (1, model.context_length)
    assert model.vocab_size < 10_000
    images, texts = clip.embed(model, collate, Pairs("clip", 128, 0, HELD_OUT, {"concrete": 1.0}))
    cosines = images @ texts.T
    matches, all_pairs = cosines.diag(), cosines
    assert matches.mean() > all_pairs.mean() + all_pairs.std()
    ranks = (texts @ images.T).argsort(dim=1, descending=True).argsort(dim=1).diag()
    assert ranks.float().mean() < 128 / 4  # 64 by chance
