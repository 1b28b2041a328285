"""The scale models: in the real checkpoints' formats, better than chance, and the same bytes when trained twice."""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from benchmark.demo.training import bert, clip, gpt2, supervised
from benchmark.demo.training.data import HELD_OUT, Pairs, Scenes
from benchmark.demo.training.loop import Recipe, cosine, seeded, shuffled
from benchmark.demo.training.scripts import MODELS, SCRIPTS
from benchmark.demo.training.tags import FAMILIES, r_precision, tags
from benchmark.demo.world import Scene, Thing

TINY: dict[str, dict[str, Any]] = {
    "swin": {"scenes": 256, "depths": (1, 1), "heads": (2, 4)},
    "vit": {"scenes": 256, "width": 32, "layers": 1, "heads": 2},
    "gpt2": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "bert": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "clip": {"pairs": 64, "captions": 200, "vocabulary": 400, "width": 32, "text_layers": 1},
}
RECIPE = Recipe(steps=2, batch=8, lr=1e-3, workers=0)


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
    first, second = ({p.name: p.read_bytes() for p in folder.iterdir()} for folder in folders)
    assert first == second
    assert any(file.endswith(".safetensors") for file in first)


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
    tokenizer = bert.bert_tokenizer(["a red ball on the beach", "two dogs"] * 20, 200, 32)
    batch = tokenizer(["a red ball on the beach"] * 400, return_tensors="pt")
    masked = bert.mask(batch, tokenizer, torch.Generator().manual_seed(0))
    guessed = masked["labels"] != bert.IGNORED
    assert torch.equal(masked["labels"][guessed], batch["input_ids"][guessed])
    assert torch.equal(masked["input_ids"][~guessed], batch["input_ids"][~guessed])
    assert not guessed[:, [0, -1]].any()  # [CLS] and [SEP]
    assert guessed[:, 1:-1].float().mean().item() == pytest.approx(0.15, abs=0.03)
    hidden = masked["input_ids"][guessed] == tokenizer.mask_token_id
    assert hidden.float().mean().item() == pytest.approx(0.8, abs=0.06)


def test_held_out_samples_are_none_that_training_reaches() -> None:
    longest = max(script.config.recipe.samples for script in SCRIPTS.values())
    assert longest < HELD_OUT
    assert Scenes(1, 0, HELD_OUT)[0][1] != Scenes(1, 0)[0][1]


# What follows is about the shipped weights.


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_shipped_weights_are_half_precision_safetensors(name: str) -> None:
    (path,) = (MODELS / name).glob("*.safetensors")
    with safe_open(path, framework="pt") as file:
        dtypes = {file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118, not a dict
    assert torch.float16 in dtypes
    assert torch.float32 not in dtypes


def test_shipped_models_are_small() -> None:
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 12_000_000


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
    figures = supervised.evaluate(folder, 64, 0)
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
    assert bert.evaluate(MODELS / "bert", 200, 0)["masked_word_accuracy"] > 0.4


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
