"""Training of the scale models: reproducible weights, the loop, tags, masking, tokenizers and documents."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tools.scale_models import gpt2
from tools.scale_models.data import HELD_OUT, Scenes
from tools.scale_models.loop import Recipe, seeded
from tools.scale_models.registry import SCRIPTS

RECIPE = Recipe(steps=2, batch=8, lr=1e-3, workers=0)
TINY: dict[str, dict[str, Any]] = {
    "swin": {"scenes": 256, "depths": (1, 1), "heads": (2, 4)},
    "vit": {"scenes": 256, "width": 32, "layers": 1, "heads": 2},
    "gpt2": {"captions": 200, "scenes": 50, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "bert": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "roberta": {"captions": 200, "vocabulary": 400, "width": 32, "layers": 1, "heads": 2},
    "llama": {"captions": 100, "vocabulary": 400, "width": 32, "inner": 32, "layers": 1, "heads": 2},
    "clip": {"first_recipe": RECIPE, "captions": 200, "vocabulary": 400, "width": 32, "text_layers": 1},
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


def test_held_out_samples_follow_all_training_samples() -> None:
    assert max(script.config.recipe.samples for script in SCRIPTS.values()) < HELD_OUT
    assert Scenes(1, 0, HELD_OUT)[0][1] != Scenes(1, 0)[0][1]
