"""The weak backbone: its loss by hand, what it learns from planted labels, and the folder that timm loads."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from torch import nn

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.core.uids import encode_uids
from benchmark.run.identity import training_fingerprint
from downstream.batching import to_pixels
from downstream.training.trainer import TrainConfig
from pairsift.studies.ava.topic_backbone import TopicLabels, TopicLoss, WeakBackbone, check_architecture
from tests.downstream.tiny_models import Recorder

CPU = torch.device("cpu")


@dataclass
class Halves:
    """Noise that is brighter on the left (even) or on the right (odd)."""

    count: int
    seed: int

    def __len__(self) -> int:
        return self.count

    @property
    def epochs(self) -> tuple[np.ndarray, ...]:
        return (np.arange(self.count),)

    def __getitem__(self, index: int, /) -> Sample:
        pixels = np.random.default_rng([self.seed, index]).integers(0, 160, (48, 40, 3), dtype=np.uint8)
        pixels[:, 20 * (index % 2) :][:, :20] += 80
        return Sample(f"{index:032x}", "", Image.fromarray(pixels))


def planted(count: int) -> TopicLabels:
    """Topic 0 of three for the left, topic 2 for the right, nine times of ten."""
    rows = [[0.9, 0.1, 0.0], [0.0, 0.1, 0.9]]
    uids = encode_uids([f"{n:032x}" for n in range(count)])
    return TopicLabels(uids, np.array([rows[n % 2] for n in range(count)], np.float32))


def make(
    labels: TopicLabels, architecture: str = "test_resnet", size: int = 32, **changes: Any
) -> WeakBackbone:
    given = {"samples_seen": 640, "batch_size": 16, "lr": 3e-3, "seed": 0} | changes
    return WeakBackbone(architecture, size, TrainConfig(**given), labels)


class Constant(nn.Module):
    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return torch.tensor([[0.5, 0.25, 0.25]]).log().expand(len(pixels), 3)


def test_the_loss_and_its_references_by_hand() -> None:
    inputs = {"pixel_values": torch.zeros(2, 1), "topics": torch.tensor([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])}
    total, count = TopicLoss(Constant())(inputs)
    assert total.item() == pytest.approx((0.5 * math.log(2) + 0.5 * math.log(4)) + math.log(4))
    assert count == 2
    uids = encode_uids([f"{n:032x}" for n in range(2)])
    for topics, entropy in (
        (np.eye(2, dtype=np.float32), 0),
        (np.full((2, 2), 0.5, np.float32), math.log(2)),
    ):
        assert TopicLabels(uids, topics).references() == pytest.approx((entropy, math.log(2)))


@torch.inference_mode()
def predict(backbone: WeakBackbone, images: list[Image.Image]) -> Any:
    return backbone.model.eval()(to_pixels(backbone.processor, images)).numpy()


@pytest.mark.slow
def test_it_learns_planted_labels_and_timm_loads_the_folder(tmp_path: Path) -> None:
    backbone = make(planted(64))
    report = backbone.train(Halves(64, 0), tmp_path, CPU, Recorder(), "f")
    assert report.samples_seen == 640
    own, constant = backbone.labels.references()
    assert own < report.final_loss < constant
    images = [Halves(40, 1)[n].image for n in range(40)]
    topics = predict(backbone, images)
    assert (topics.argmax(1) == np.arange(40) % 2 * 2).mean() > 0.9  # of images it has not seen
    loaded: Any = timm.create_model(f"local-dir:{tmp_path / 'model'}", pretrained=True)
    assert (loaded.num_classes, loaded.pretrained_cfg["input_size"]) == (3, (3, 32, 32))
    assert "license" not in loaded.pretrained_cfg or not loaded.pretrained_cfg["license"]
    again = make(planted(64))
    assert again.train(Halves(64, 0), tmp_path, CPU, Recorder(stop_at=0), "f") == report
    assert np.array_equal(predict(again, images), topics)


def test_the_whole_image_is_seen() -> None:
    backbone = make(planted(2))
    backbone.build(CPU)
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 256, (47, 95, 3), dtype=np.uint8))
    (pixels,) = backbone.processor(images=[photo], return_tensors="pt")["pixel_values"]
    mean, std = (torch.tensor(backbone.model.pretrained_cfg[name])[:, None, None] for name in ("mean", "std"))
    resized = np.asarray(photo.resize((32, 32), Image.Resampling.BILINEAR), np.float32)
    by_hand = resized.transpose(2, 0, 1) / 255
    assert (pixels * std + mean).numpy() == pytest.approx(by_hand, abs=1e-5)


@pytest.mark.parametrize("architecture", ["test_resnet", "test_vit"])
def test_weights_come_from_the_seed(architecture: str) -> None:
    before = torch.get_rng_state()
    one, same, other = (make(planted(2), architecture, seed=seed) for seed in (1, 1, 2))
    for backbone in (one, same, other):
        backbone.build(CPU)
    assert torch.equal(before, torch.get_rng_state())
    weights = [list(b.model.parameters()) for b in (one, same, other)]
    assert all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights[0], weights[2], strict=True))


def test_mistakes() -> None:
    with pytest.raises(UserError, match="architecture=resnet1000 must be an architecture of timm"):
        check_architecture("resnet1000")
    with pytest.raises(UserError, match=r"test_vit cannot be built for weak_backbone\.image_size=37"):
        make(planted(2), "test_vit", 37).build(CPU)


def test_every_setting_and_other_labels_train_again() -> None:
    four = planted(4)
    changed = [make(four, "test_vit"), make(four, size=64), make(four, lr=1.0), make(planted(6))]
    same, other = make(planted(4)), make(planted(4), workers=3, validate_every=5)
    keys = [training_fingerprint(model, "sha", "cpu") for model in (same, other, *changed)]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 5
    before = same.identity()
    same.build(CPU)
    assert same.identity() == before
