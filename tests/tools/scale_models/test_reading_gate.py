"""The gate of the CLIP that reads: the shipped one passes it, one that has learnt nothing does not."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tools.scale_models import clip
from tools.scale_models.export import MODELS
from tools.scale_models.loop import Recipe
from tools.scale_models.reading_gate import measure

SAMPLES = 300


@pytest.mark.slow
def test_the_demos_clip_reads() -> None:
    reading = measure(MODELS / "clip", SAMPLES)
    assert reading.reads, str(reading)
    assert reading.text_effect > 1


@pytest.mark.slow
def test_a_control_is_trained_without_text_and_does_not_read(tmp_path: Path) -> None:
    once = Recipe(steps=1, batch=8, lr=1e-3, workers=0)
    config = replace(clip.ClipTraining(), captions=200, first_recipe=once, recipe=once)
    clip.train(tmp_path, config, torch.device("cpu"), parrots=0.0)
    assert not measure(tmp_path, SAMPLES).reads
