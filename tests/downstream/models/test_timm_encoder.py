"""Encoders of timm in the captioner: a CNN, a ViT, and a Swin that puts channels last."""

from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from timm.models import save_for_hf

from downstream.models.captioner import Captioner
from downstream.models.networks import CaptionCollate, CaptionLoss
from downstream.models.timm_encoder import load_encoder, positions
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import CAPTIONS, SIZE, Checkpoints, MemorySubset, Recorder, draw

CPU = torch.device("cpu")
IMAGES = [draw(caption) for caption in CAPTIONS]
MODELS: dict[str, dict[str, Any]] = {
    "test_resnet": {},
    "test_vit": {"img_size": SIZE},
    "swin_tiny_patch4_window7_224": {
        "img_size": SIZE,
        "window_size": 4,
        "embed_dim": 16,
        "depths": (1, 1),
        "num_heads": (1, 2),
    },
}
POSITIONS = {"test_resnet": 1, "test_vit": 5, "swin_tiny_patch4_window7_224": 16}


@pytest.fixture(params=sorted(MODELS))
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Any, str]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = timm.create_model(request.param, pretrained=False, num_classes=7, **MODELS[request.param])
    data = {"input_size": (3, SIZE, SIZE), "crop_pct": 1.0, "crop_mode": "squash"}
    save_for_hf(model, str(tmp_path / "timm"), safe_serialization=True, data_config=data)
    return tmp_path / "timm", model.eval(), request.param


def make(encoder: Path, decoder: str, samples: int = 16) -> Captioner:
    training = TrainConfig(samples_seen=samples, batch_size=8, lr=3e-3, seed=0)
    return Captioner(str(encoder), decoder, training, 16, beams=2, max_new_tokens=8, eval_batch_size=5)


def test_the_encoder_is_timms_own(folder: tuple[Path, Any, str]) -> None:
    path, model, name = folder
    encoder = load_encoder(str(path)).eval()
    pixels = torch.randn(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        found, expected = encoder(pixel_values=pixels).last_hidden_state, model.forward_features(pixels)
    assert found.shape == (2, POSITIONS[name], model.num_features)
    assert encoder.config.hidden_size == model.num_features
    if name == "test_resnet":
        expected = expected.flatten(2).transpose(1, 2)
    assert torch.allclose(found, expected.reshape(found.shape), atol=1e-6)


def test_build_train_save_and_load_agree(
    folder: tuple[Path, Any, str], checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    captioner = make(folder[0], checkpoints.gpt2)
    captioner.build(CPU)
    collate = CaptionCollate(captioner.processor, captioner.tokenizer, 16)
    total, tokens = CaptionLoss(captioner.model)(collate([eight_pairs[0], eight_pairs[1]]))
    assert torch.isfinite(total)
    assert tokens == 14
    captioner.train(eight_pairs, tmp_path / "run", CPU, Recorder(), "f")
    captions = captioner.caption(IMAGES)
    again = make(folder[0], checkpoints.gpt2)
    again.load(tmp_path / "run", CPU)
    assert again.caption(IMAGES) == captions
    again.save(tmp_path / "copy")
    third = make(folder[0], checkpoints.gpt2)
    third.load(tmp_path / "copy", CPU)
    assert third.caption(IMAGES) == captions
    pairs = zip(captioner.model.state_dict().items(), third.model.state_dict().items(), strict=True)
    assert all(a == b and torch.equal(one, other) for (a, one), (b, other) in pairs)


def test_positions_by_hand() -> None:
    channels_last = torch.arange(12.0).reshape(1, 2, 2, 3)
    expected = [[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]]
    assert positions(channels_last, 3).tolist() == expected
    assert positions(channels_last.movedim(3, 1), 3).tolist() == expected
    assert positions(channels_last.reshape(1, 4, 3), 3).tolist() == expected
    assert positions(torch.ones(2, 3), 3).shape == (2, 1, 3)
