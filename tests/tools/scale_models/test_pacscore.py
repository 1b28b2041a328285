"""Positive-augmented fine-tuning of the demo's CLIP, on a few pairs with the shipped generators."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from benchmark.models.clip_models import load_clip
from benchmark.models.pac_clip import load_pac_clip
from tools.scale_models import pacscore
from tools.scale_models.export import MODELS
from tools.scale_models.loop import Recipe
from tools.scale_models.pacscore import Projections, info_nce

CPU = torch.device("cpu")
CLIP = f"local-dir:{MODELS / 'clip'}"
SHIPPED = MODELS / "pacscore" / pacscore.FILE
CHANGED = {"visual.attnpool.c_proj.weight", "visual.attnpool.c_proj.bias", "text_projection"}


def test_info_nce_equals_hand_computed_value() -> None:
    images, texts = torch.eye(2), torch.tensor([[1.0, 0.0], [0.6, 0.8]])
    # Logits of temperature 1/2: rows (2, 1.2) and (0, 1.6); columns (2, 0) and (1.2, 1.6).
    losses = [np.log1p(np.exp(-0.8)), np.log1p(np.exp(-1.6)), np.log1p(np.exp(-2.0)), np.log1p(np.exp(-0.4))]
    assert info_nce(images, texts, torch.tensor(2.0)).item() == pytest.approx(np.mean(losses), abs=1e-6)


def test_projections_reproduce_the_models_embeddings() -> None:
    clip = load_clip(CLIP, None, CPU)
    projections = Projections(clip.model)
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (90, 70, 3), np.uint8)) for _ in range(3)]
    texts = ["a red ball", "", "two dogs on the beach " * 20]
    with torch.no_grad():
        embeddings = projections.images(pacscore.image_inputs(clip, images)).numpy()
        assert embeddings == pytest.approx(clip.embed_images(images), abs=1e-5)
        embeddings = projections.texts(pacscore.text_inputs(clip, texts)).numpy()
        assert embeddings == pytest.approx(clip.embed_texts(texts), abs=1e-5)


@pytest.mark.slow
def test_training_changes_only_the_projections(tmp_path: Path) -> None:
    recipe = Recipe(steps=4, batch=16, lr=1e-3, weight_decay=0.0, workers=0)
    pacscore.train(tmp_path, pacscore.PacTraining(pairs=16, recipe=recipe), CPU)
    after = load_pac_clip(CLIP, None, str(tmp_path / pacscore.FILE), CPU).model.state_dict()
    before = load_clip(CLIP, None, CPU).model.state_dict()
    assert {name for name in before if not torch.equal(before[name], after[name])} == CHANGED


@pytest.mark.slow
def test_shipped_projections_retrieve_better_than_the_base() -> None:
    assert load_file(SHIPPED).keys() == CHANGED
    assert SHIPPED.stat().st_size < 170_000
    figures = pacscore.evaluate(SHIPPED.parent, 200, 0)
    assert figures["recall_at_1_of_500"] > figures["before_recall_at_1_of_500"]
    assert figures["prefers_own_caption"] > 0.9
    assert figures["score_concrete"] - figures["score_mismatched"] > 0.4
