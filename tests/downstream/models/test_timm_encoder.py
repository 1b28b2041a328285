"""Encoders of timm in the captioner: a CNN, a ViT, and a Swin that puts channels last."""

from pathlib import Path
from typing import Any

import pytest
import torch

from downstream.models.networks import CaptionLoss
from downstream.models.timm_encoder import load_encoder, positions
from tests.downstream.tiny_models import (
    CAPTIONS,
    SIZE,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    draw,
    make,
    same_weights,
    save_timm,
    six_steps,
    weights,
)

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]
SWIN = {"img_size": SIZE, "window_size": 4, "embed_dim": 16, "depths": (1, 1), "num_heads": (1, 2)}
MODELS = {
    "test_resnet": (1, {}),  # positions, settings
    "test_vit": (5, {"img_size": SIZE}),
    "swin_tiny_patch4_window7_224": (16, SWIN),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_encoder_is_timms_own(name: str, tmp_path: Path) -> None:
    count, settings = MODELS[name]
    model = save_timm(tmp_path, name, **settings)
    encoder = load_encoder(str(tmp_path)).eval()
    pixels = torch.randn(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        states, expected = encoder(pixel_values=pixels).last_hidden_state, model.forward_features(pixels)
    assert states.shape == (2, count, model.num_features)
    assert encoder.config.hidden_size == model.num_features
    if name == "test_resnet":
        expected = expected.flatten(2).transpose(1, 2)
    assert torch.allclose(states, expected.reshape(states.shape), atol=1e-6)


def test_build_train_save_and_load_agree(checkpoints: Checkpoints, tmp_path: Path) -> None:
    save_timm(tmp_path / "timm", "test_resnet")
    given: dict[str, Any] = {"encoder": str(tmp_path / "timm")}
    captioner, pairs = built("captioner", checkpoints, **given), MemorySubset(CAPTIONS[:2])
    total, tokens = CaptionLoss(captioner.model)(captioner.collate([pairs[0], pairs[1]]))
    assert torch.isfinite(total)
    assert tokens == 14
    captioner = make("captioner", checkpoints, six_steps(samples_seen=2, batch_size=2), **given)
    captioner.train(pairs, tmp_path / "run", CPU, Recorder(), "f")
    again = make("captioner", checkpoints, **given)
    again.load(tmp_path / "run", CPU)
    assert again.caption(IMAGES[:2]) == captioner.caption(IMAGES[:2])
    assert same_weights(weights(again), weights(captioner))


def test_positions_by_hand() -> None:
    channels_last = torch.arange(12.0).reshape(1, 2, 2, 3)
    expected = [[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]]
    for features in (channels_last, channels_last.movedim(3, 1), channels_last.reshape(1, 4, 3)):
        assert positions(features, 3).tolist() == expected
    assert positions(torch.ones(2, 3), 3).shape == (2, 1, 3)
