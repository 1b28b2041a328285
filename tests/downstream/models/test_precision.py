"""fp32 and bf16 in training and evaluation, and devices that do not compute bf16."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core import devices
from downstream.models.dual_encoder import DualEncoder
from downstream.training.trainer import TrainConfig
from tests.command_line import Run, assert_one_line
from tests.downstream.tiny_models import CAPTIONS, UNLOCKED, Checkpoints, MemorySubset, Recorder, draw
from tests.pools import rows, write_pool

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


def test_a_cpu_without_bf16_is_refused_before_scoring(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: False)
    pool = write_pool(tmp_path / "pool", [rows(5)])
    settings = [
        "pool=img2dataset",
        f"pool.url={pool}",
        "size.samples=3",
        "budget=30",
        "models=demo",
        "filter=random",
    ]
    done = run("task=train", *settings, "device=cpu", "precision=bf16")
    assert_one_line(done, "precision=bf16 needs a GPU that computes bf16, or a CPU with")
    assert "score:" not in done.stderr
