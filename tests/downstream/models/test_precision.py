"""fp32 and bf16 in training and evaluation, and devices that do not compute bf16."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core import devices
from tests.command_line import Run, assert_one_line
from tests.downstream.tiny_models import CAPTIONS, Checkpoints, MemorySubset, Recorder, draw, make, six_steps
from tests.pools import rows, write_pool

CPU = torch.device("cpu")


def test_bf16_rounds_what_fp32_computes(
    without_dropout: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: True)
    losses, vectors = {}, {}
    for precision in ("auto", "fp32", "bf16"):
        model, tracker = (
            make("uncached", without_dropout, six_steps(samples_seen=8, precision=precision)),
            Recorder(),
        )
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
