"""Activation checkpointing: the same training, in less memory, and a line where a model cannot do it."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
import timm
import torch
from torch import nn

from downstream.models.networks import CaptionCollate, CaptionLoss
from downstream.training.stepper import Stepper, checkpoint_activations
from downstream.training.training_data import TrainingBatch
from tests.downstream.tiny_models import CAPTIONS, Checkpoints, MemorySubset, Recorder
from tests.downstream.training.test_micro_batches import CPU, WHOLE, made, stepper_of


def trained(
    name: str, tiny: Checkpoints, folder: Path, **changes: object
) -> tuple[list[torch.Tensor], list[float]]:
    tracker = Recorder()
    model = made(name, tiny, replace(WHOLE, **changes))  # type: ignore[arg-type]
    model.train(MemorySubset(CAPTIONS), folder, CPU, tracker, "f")
    network: nn.Module = model.model  # type: ignore[attr-defined]
    return list(network.state_dict().values()), tracker.losses()


@pytest.mark.parametrize(("name", "micro_batch"), [("captioner", None), ("uncached", 3), ("unlocked", 3)])
def test_weights_and_losses_are_the_same(
    name: str,
    micro_batch: int | None,
    checkpoints: Checkpoints,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(
        logging.Logger, "warning_once", lambda _, *text: said.append(str(text)), raising=False
    )
    kept, losses = trained(name, checkpoints, tmp_path / "kept", micro_batch=micro_batch)
    again, same = trained(name, checkpoints, tmp_path / "again", micro_batch=micro_batch, checkpointing=True)
    assert losses == same
    assert all(map(torch.equal, kept, again))
    assert said == []  # of caches


def bytes_kept(stepper: Stepper, batch: TrainingBatch) -> int:
    """Return the bytes that the forward pass keeps for the backward pass."""
    kept = [0]

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        kept[0] += tensor.nbytes
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        stepper._call(stepper.model, batch.inputs)
    return kept[0]


@pytest.mark.parametrize("name", ["captioner", "uncached", "unlocked"])
def test_fewer_activations_are_kept(name: str, checkpoints: Checkpoints) -> None:
    model = made(name, checkpoints, WHOLE)
    model.build(CPU)
    network: nn.Module = model.model  # type: ignore[attr-defined]
    if name == "captioner":
        network, collate = CaptionLoss(network), CaptionCollate(model.processor, model.tokenizer, 16)  # type: ignore[attr-defined]
    else:
        collate = model.collate  # type: ignore[attr-defined]
    subset = MemorySubset(CAPTIONS)
    batch = TrainingBatch(collate([subset[index] for index in range(8)]), 8, {})
    stepper = stepper_of(network.train(), None)
    whole = bytes_kept(stepper, batch)
    checkpoint_activations(network, name)
    assert bytes_kept(stepper, batch) < whole / 2


def test_a_locked_tower_is_left_alone(checkpoints: Checkpoints) -> None:
    model = made("uncached", checkpoints, WHOLE)
    model.build(CPU)
    towers = model.model  # type: ignore[attr-defined]
    checkpoint_activations(towers, "dual_encoder")
    assert towers.text_tower.is_gradient_checkpointing
    assert not towers.image_tower.is_gradient_checkpointing


class Towers(nn.Module):
    def __init__(self, *towers: nn.Module) -> None:
        super().__init__()
        self.towers = nn.ModuleList(towers)


def test_towers_of_timm_recompute_themselves() -> None:
    vit = timm.create_model("test_vit", pretrained=False)
    checkpoint_activations(Towers(vit), "toy")
    assert vit.grad_checkpointing


def test_statistics_of_batches_are_not_counted_twice(caplog: pytest.LogCaptureFixture) -> None:
    cnn = timm.create_model("test_resnet", pretrained=False)
    checkpoint_activations(Towers(cnn), "toy")
    assert "ResNet" in caplog.text
    assert not cnn.grad_checkpointing


def test_a_line_says_which_model_cannot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from tests.downstream.training.test_trainer import Guess, fit

    with caplog.at_level(logging.WARNING):
        fit(Guess(), tmp_path, samples_seen=20, checkpointing=True)
    assert [record.getMessage() for record in caplog.records] == [
        "toy: training.checkpointing changes nothing for Guess, which cannot recompute activations; "
        "training.micro_batch saves memory too"
    ]
