"""Steps in parts and with recomputed activations: the same gradient in less memory; optimizers."""

import logging
from pathlib import Path
from typing import Any

import pytest
import timm
import torch
from accelerate import Accelerator
from torch import nn

from downstream.models.base import seeded
from downstream.models.networks import CaptionLoss, TwoTowers
from downstream.training.stepper import Stepper, batch_parts, checkpoint_activations, make_optimizer
from downstream.training.training_data import Inputs, TrainingBatch
from tests.downstream.tiny_models import (
    CAPTIONS,
    KINDS,
    Checkpoints,
    MemorySubset,
    Recorder,
    built,
    make,
    same_weights,
    six_steps,
    weights,
)

CPU = torch.device("cpu")
PAIRS = MemorySubset(CAPTIONS, broken={1: "image_unreadable"})


def steps_of(
    kind: str, tiny: Checkpoints, folder: Path, **changes: Any
) -> tuple[list[float], dict[str, Any]]:
    """The losses and gradient norms of two steps, the last of three samples, and the weights afterwards."""
    model, tracker = make(kind, tiny, six_steps(samples_seen=11, **changes)), Recorder()
    model.train(PAIRS, folder / f"{kind}{changes}", CPU, tracker, "f")
    of_step = [row[f"{model.name}/{name}"] for _, row in tracker.rows for name in ("loss", "gradient_norm")]
    return of_step, weights(model)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_train_as_the_whole_batch(kind: str, without_dropout: Checkpoints, tmp_path: Path) -> None:
    whole, _ = steps_of(kind, without_dropout, tmp_path)
    parts, _ = steps_of(kind, without_dropout, tmp_path, micro_batch=3)
    assert len(whole) == 4
    assert parts == pytest.approx(whole, rel=1e-4)


def test_a_micro_batch_of_the_whole_batch_changes_nothing(checkpoints: Checkpoints, tmp_path: Path) -> None:
    whole, one = steps_of("locked", checkpoints, tmp_path)
    same, other = steps_of("locked", checkpoints, tmp_path, micro_batch=8)
    assert same == whole
    assert same_weights(one, other)


@pytest.mark.parametrize(("kind", "micro_batch"), [("captioner", None), ("uncached", 3), ("unlocked", 3)])
def test_recomputed_activations_give_the_same_weights(
    kind: str,
    micro_batch: int | None,
    checkpoints: Checkpoints,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(
        logging.Logger, "warning_once", lambda _, *text: said.append(str(text)), raising=False
    )
    kept, one = steps_of(kind, checkpoints, tmp_path, micro_batch=micro_batch)
    again, other = steps_of(kind, checkpoints, tmp_path, micro_batch=micro_batch, checkpointing=True)
    assert kept == again
    assert same_weights(one, other)
    assert said == []  # of caches


def stepper_of(model: nn.Module, micro_batch: int | None = 3) -> Stepper:
    optimizer = make_optimizer(model, "adamw", 1e-3, 0.0)
    return Stepper(Accelerator(cpu=True), model, optimizer, 1.0, 0, "fp32", micro_batch)


def gradients_of(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("kind", ["uncached", "unlocked"])
def test_dropout_is_the_same_when_a_part_is_embedded_again(kind: str, checkpoints: Checkpoints) -> None:
    encoder = built(kind, checkpoints)
    model: TwoTowers = encoder.model.train()
    parts = batch_parts(encoder.collate([MemorySubset(CAPTIONS)[index] for index in range(7)]), 3)
    stepper = stepper_of(model)
    stepper._in_parts(5, parts)
    in_parts = gradients_of(model)
    model.zero_grad()
    embedded = []  # with all activations
    for number, part in enumerate(parts):
        stepper._seed(5, number)
        embedded.append(model.embed(part))
    images, texts = (torch.cat([part[column] for part in embedded]) for column in (0, 1))
    loss = model._loss(type(embedded[0])(images, texts, model.log_scale))
    (loss.total / loss.terms).backward()
    expected = gradients_of(model)
    assert expected.norm() > 0.1
    assert (in_parts - expected).norm() < 2e-5 * expected.norm()


class Kept:
    """Counts the bytes that forward passes keep for their backward passes: in all, and at most at once."""

    def __init__(self) -> None:
        self.all = self.now = self.most = 0

    def __enter__(self) -> "Kept":
        self.hooks = torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)
        self.hooks.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.hooks.__exit__(*error)

    def pack(self, tensor: torch.Tensor) -> torch.Tensor:
        self.all += tensor.nbytes
        self.now += tensor.nbytes
        self.most = max(self.most, self.now)
        return tensor

    def unpack(self, tensor: torch.Tensor) -> torch.Tensor:
        self.now -= tensor.nbytes
        return tensor


class Summed(nn.Module):
    """Eight layers, and the sum of squares as the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(16, 16), nn.Tanh())])

    def forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        return self.layers(inputs["rows"]).square().sum(), torch.tensor(len(inputs["rows"]))


def test_only_activations_of_a_part_are_kept() -> None:
    most = []
    for micro_batch in (64, None):
        with Kept() as kept:
            batch = TrainingBatch({"rows": torch.ones(512, 16)}, 512, {})
            stepper_of(Summed(), micro_batch).step(0, 1e-3, batch)
        most.append(kept.most)
    assert most[0] < most[1] / 5


@pytest.mark.parametrize("kind", ["captioner", "uncached", "unlocked"])
def test_fewer_activations_are_kept_if_they_are_recomputed(kind: str, checkpoints: Checkpoints) -> None:
    model = built(kind, checkpoints)
    network = CaptionLoss(model.model) if kind == "captioner" else model.model
    inputs, counts = model.collate([MemorySubset(CAPTIONS)[index] for index in range(8)]), []
    for recompute in (False, True):
        if recompute:
            checkpoint_activations(network, kind)
        with Kept() as kept:
            network.train()(inputs)
        counts.append(kept.all)
    assert counts[1] < counts[0] / 2
    if kind == "uncached":  # a locked tower is left as it is
        assert network.text_tower.is_gradient_checkpointing
        assert not network.image_tower.is_gradient_checkpointing


class Towers(nn.Module):
    def __init__(self, *towers: nn.Module) -> None:
        super().__init__()
        self.towers = nn.ModuleList(towers)


def test_a_line_names_a_network_that_cannot_recompute(caplog: pytest.LogCaptureFixture) -> None:
    """Towers of timm can, unless they have statistics of batches, which would count twice."""
    vit, cnn = (timm.create_model(name, pretrained=False) for name in ("test_vit", "test_resnet"))
    checkpoint_activations(Towers(vit, cnn), "toy")
    checkpoint_activations(Summed(), "toy")
    assert (vit.grad_checkpointing, cnn.grad_checkpointing) == (True, False)
    assert [record.getMessage() for record in caplog.records] == [
        f"toy: training.checkpointing changes nothing for {network}, which cannot recompute activations; "
        "training.micro_batch saves memory too"
        for network in ("ResNet", "Summed")
    ]


def test_a_part_of_the_model_has_its_own_learning_rate() -> None:
    model = nn.ModuleDict({"encoder": nn.Linear(2, 2), "decoder": nn.Linear(2, 2)})
    optimizer = make_optimizer(model, "adamw", 0.03, weight_decay=0.1, lr_ratios={"encoder.": 0.5})
    of_parameter = {
        id(parameter): (group["lr"], group["lr_ratio"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    assert {name: of_parameter[id(parameter)] for name, parameter in model.named_parameters()} == {
        "encoder.weight": (0.015, 0.5, 0.1),
        "encoder.bias": (0.015, 0.5, 0.0),
        "decoder.weight": (0.03, 1.0, 0.1),
        "decoder.bias": (0.03, 1.0, 0.0),
    }


def test_lamb_moves_a_matrix_by_lr_times_its_norm() -> None:
    with seeded(0):  # a gradient near 0 would be as small as epsilon
        layer = nn.Linear(12, 32)
    optimizer = make_optimizer(layer, "lamb", lr=0.03, weight_decay=0.0)
    weight, bias = (p.detach().clone() for p in (layer.weight, layer.bias))
    layer(torch.ones(2, 12)).square().sum().backward()
    optimizer.step()
    moved = ((layer.weight - weight).norm() / weight.norm()).item()
    assert moved == pytest.approx(0.03, rel=1e-4)  # trust ratio |w| / |update| (You et al. 2020, Algorithm 2)
    # Adam's first step is the rate itself, whatever the gradient: vectors have no trust ratio.
    assert (layer.bias - bias).abs().detach().numpy() == pytest.approx(0.03, rel=1e-4)
