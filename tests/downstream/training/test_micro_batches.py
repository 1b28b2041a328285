"""Batches computed in parts: the gradient is that of the whole batch, and less is kept in memory at once."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from torch import nn

from downstream.models.base import Downstream
from downstream.models.captioner import Captioner
from downstream.models.clip_scratch import ClipScratch
from downstream.models.dual_encoder import DualEncoder
from downstream.models.lstm_captioner import LstmCaptioner
from downstream.models.networks import TwoTowers
from downstream.training.stepper import Stepper, batch_parts, make_optimizer
from downstream.training.trainer import TrainConfig
from downstream.training.training_data import Inputs, TrainingBatch
from tests.downstream.tiny_models import CAPTIONS, UNLOCKED, Checkpoints, MemorySubset, Recorder

CPU = torch.device("cpu")
MODELS = ("captioner", "lstm_captioner", "locked", "uncached", "unlocked", "clip_scratch")
WHOLE = TrainConfig(19, batch_size=8, lr=3e-3, log_every=1, workers=0)  # the last batch has three samples


def made(name: str, tiny: Checkpoints, training: TrainConfig) -> Downstream:
    if name == "captioner":
        return Captioner(tiny.swin, tiny.gpt2, training, 16, 3, 12, 5)
    if name == "clip_scratch":
        return ClipScratch(tiny.clip, training, 5)
    if name == "lstm_captioner":
        return LstmCaptioner(tiny.swin, training, 32, 0.0, 1, 10, 2, 5)
    locked, cached = name != "unlocked", name == "locked"
    return DualEncoder(tiny.vit, tiny.bert, training, locked, cached, 16, 5, UNLOCKED)


def trained(
    name: str, tiny: Checkpoints, folder: Path, micro_batch: int | None
) -> tuple[nn.Module, Recorder]:
    tracker = Recorder()
    subset = MemorySubset(CAPTIONS, broken={1: "image_unreadable"})
    model = made(name, tiny, replace(WHOLE, micro_batch=micro_batch))
    model.train(subset, folder, CPU, tracker, "f")
    network: nn.Module = model.model  # type: ignore[attr-defined]
    return network, tracker


@pytest.mark.parametrize("name", MODELS)
def test_parts_train_as_the_whole_batch(name: str, without_dropout: Checkpoints, tmp_path: Path) -> None:
    _, of_whole = trained(name, without_dropout, tmp_path / "whole", None)
    _, of_parts = trained(name, without_dropout, tmp_path / "parts", 3)
    for (_, expected), (_, values) in zip(of_whole.rows, of_parts.rows, strict=True):
        assert values[f"{of_model(name)}/loss"] == pytest.approx(expected[f"{of_model(name)}/loss"], rel=1e-5)
        norm = f"{of_model(name)}/gradient_norm"
        assert values[norm] == pytest.approx(expected[norm], rel=1e-4)


def of_model(name: str) -> str:
    return name if name in ("captioner", "lstm_captioner", "clip_scratch") else "dual_encoder"


@pytest.mark.parametrize("locked", [True, False])
def test_dropout_is_the_same_when_a_part_is_embedded_again(locked: bool, checkpoints: Checkpoints) -> None:
    encoder = DualEncoder(checkpoints.vit, checkpoints.bert, WHOLE, locked, False, 16, 5, UNLOCKED)
    encoder.build(CPU)
    model = encoder.model.train()
    subset = MemorySubset(CAPTIONS)
    inputs = encoder.collate([subset[index] for index in range(7)])
    stepper = stepper_of(model)

    stepper._in_parts(5, batch_parts(inputs, 3))
    recorded = gradients_of(model)
    model.zero_grad()
    loss_with_all_activations(stepper, model, inputs).backward()
    assert_same(recorded, gradients_of(model))


def gradients_of(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_same(some: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> None:
    assert some.keys() == others.keys()
    one, other = (torch.cat([g[name].flatten() for name in sorted(g)]) for g in (some, others))
    assert other.norm() > 0.1
    assert (one - other).norm() < 2e-5 * other.norm()


def stepper_of(model: nn.Module, micro_batch: int | None = 3) -> Stepper:
    optimizer = make_optimizer(model, "adamw", 1e-3, 0.0)
    return Stepper(Accelerator(cpu=True), model, optimizer, 1.0, 0, "fp32", micro_batch)


def loss_with_all_activations(stepper: Stepper, model: TwoTowers, inputs: Inputs) -> torch.Tensor:
    embedded = []
    for number, part in enumerate(batch_parts(inputs, 3)):
        stepper._seed(5, number)
        embedded.append(model.embed(part))
    images, texts = (torch.cat([part[column] for part in embedded]) for column in (0, 1))
    loss = model._loss(type(embedded[0])(images, texts, model.log_scale))
    return loss.total / loss.terms


def test_activations_of_a_part_are_all_that_is_kept() -> None:
    width, samples = 16, 512
    layers = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(width, width), nn.Tanh())])

    class Summed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = layers

        def forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
            return self.layers(inputs["rows"]).square().sum(), torch.tensor(len(inputs["rows"]))

    def kept(micro_batch: int | None) -> int:
        alive: list[int] = [0, 0]  # bytes now, at most

        def pack(tensor: torch.Tensor) -> torch.Tensor:
            alive[0] += tensor.nbytes
            alive[1] = max(alive)
            return tensor

        def unpack(tensor: torch.Tensor) -> torch.Tensor:
            alive[0] -= tensor.nbytes
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
            stepper_of(Summed(), micro_batch).step(
                0, 1e-3, TrainingBatch({"rows": torch.ones(samples, width)}, samples, {})
            )
        return alive[1]

    assert kept(64) < kept(None) / 5


def test_a_micro_batch_of_the_whole_batch_changes_nothing(checkpoints: Checkpoints, tmp_path: Path) -> None:
    whole, _ = trained("locked", checkpoints, tmp_path / "whole", None)
    same, _ = trained("locked", checkpoints, tmp_path / "same", WHOLE.batch_size)
    pairs = zip(whole.parameters(), same.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)
