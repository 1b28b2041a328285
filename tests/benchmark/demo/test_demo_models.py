"""The shipped scale models: in the real checkpoints' formats, small, and not random."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.config import demo_model
from benchmark.demo.training.data import HELD_OUT, Pairs, Scenes
from benchmark.demo.training.loop import Recipe
from benchmark.demo.training.scripts import SCRIPTS
from benchmark.demo.training.supervised import Labelled

MODELS = Path(demo_model("swin")).parent
SMALLEST = {
    "swin": {"scenes": 40},
    "vit": {"scenes": 40},
    "gpt2": {"captions": 300},
    "bert": {"captions": 300},
    "clip": {"captions": 300, "pairs": 40},
}


def test_all_models_together_stay_small() -> None:
    sizes = [path.stat().st_size for path in MODELS.rglob("*") if path.is_file()]
    assert sum(sizes) < 12e6
    assert {path.name for path in MODELS.iterdir() if path.is_dir()} == set(SCRIPTS)


@pytest.mark.parametrize("name", ["swin", "vit"])
def test_image_models_name_what_a_scene_shows(name: str) -> None:
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    model = AutoModelForImageClassification.from_pretrained(MODELS / name, local_files_only=True)
    collate = Labelled(AutoImageProcessor.from_pretrained(MODELS / name), model.config.label2id)
    scenes = Scenes(64, 0, HELD_OUT)
    batch = collate([scenes[i] for i in range(64)])
    with torch.inference_mode():
        scores = model(batch["pixel_values"]).logits
    places = [i for tag, i in model.config.label2id.items() if tag.startswith("place:")]
    right = scores[:, places].argmax(1) == batch["labels"][:, places].argmax(1)
    assert right.float().mean() > 0.9


def test_gpt2_finds_captions_likely() -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODELS / "gpt2", local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(MODELS / "gpt2", local_files_only=True)
    assert tokenizer.pad_token is None
    assert tokenizer.eos_token == "<|endoftext|>"
    ids = tokenizer("<|endoftext|>a red ball next to a blue car", return_tensors="pt").input_ids
    with torch.inference_mode():
        loss = model(ids, labels=ids).loss.item()
    assert loss < 0.6 * torch.tensor(float(len(tokenizer))).log().item()


def test_bert_fills_in_a_masked_word() -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(MODELS / "bert", local_files_only=True)
    model = AutoModelForMaskedLM.from_pretrained(MODELS / "bert", local_files_only=True)
    batch = tokenizer("A red ball [MASK] to a blue car", return_tensors="pt")
    with torch.inference_mode():
        logits = model(**batch).logits[0, batch.input_ids[0] == tokenizer.mask_token_id]
    assert tokenizer.decode(logits.argmax(-1)) == "next"


def test_clip_prefers_the_right_caption() -> None:
    from PIL import Image

    from benchmark.clip_models import load_clip

    clip = load_clip(f"local-dir:{MODELS / 'clip'}", None, torch.device("cpu"))
    pairs = Pairs("clip", 64, 0, HELD_OUT, {"concrete": 1.0})
    images = clip.embed_images([Image.fromarray(pairs[i].image) for i in range(64)])
    similarity = images @ clip.embed_texts([pairs[i].caption for i in range(64)]).T
    right = similarity.diagonal().mean()
    wrong = (similarity.sum() - similarity.trace()) / (64 * 63)
    assert right > wrong + 0.1
    assert (similarity.argmax(1) == range(64)).mean() > 0.2


@pytest.mark.parametrize("name", sorted(SMALLEST))
def test_training_twice_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    script = SCRIPTS[name]
    recipe = Recipe(steps=2, batch=8, lr=1e-3, workers=0)
    config = replace(script.config, recipe=recipe, **SMALLEST[name])
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        script.train(tmp_path / folder, config, torch.device("cpu"))
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name
