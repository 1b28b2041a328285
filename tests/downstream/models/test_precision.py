"""fp32 and bf16 in training and evaluation, and devices that do not compute bf16."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core import devices
from benchmark.core.errors import UserError
from downstream.models.dual_encoder import DualEncoder
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import CAPTIONS, UNLOCKED, Checkpoints, MemorySubset, Recorder, draw

CPU = torch.device("cpu")


def encoder(tiny: Checkpoints, precision: str) -> DualEncoder:
    training = TrainConfig(8, batch_size=8, lr=3e-3, log_every=1, precision=precision)
    return DualEncoder(tiny.vit, tiny.bert, training, False, False, 16, 5, UNLOCKED)


def test_bf16_rounds_what_fp32_computes(
    without_dropout: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: True)
    losses, vectors = {}, {}
    for precision in ("auto", "fp32", "bf16"):
        model, tracker = encoder(without_dropout, precision), Recorder()
        model.train(MemorySubset(CAPTIONS), tmp_path / precision, CPU, tracker, "f")
        losses[precision] = tracker.losses()[0]
        model.build(CPU)  # the same weights
        vectors[precision] = model.embed_images([draw(CAPTIONS[0])])
    assert losses["auto"] == losses["fp32"] != losses["bf16"] == pytest.approx(losses["fp32"], rel=0.1)
    assert np.array_equal(vectors["auto"], vectors["fp32"])
    assert not np.array_equal(vectors["bf16"], vectors["fp32"])
    assert np.allclose(vectors["bf16"], vectors["fp32"], atol=0.02)


def test_a_cpu_without_bf16_says_so(
    checkpoints: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: False)
    with pytest.raises(UserError, match="precision=bf16 needs a GPU that computes bf16"):
        encoder(checkpoints, "bf16").train(MemorySubset(CAPTIONS), tmp_path, CPU, Recorder(), "f")
