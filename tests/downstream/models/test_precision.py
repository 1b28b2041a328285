"""fp32 and bf16 in training and evaluation, and devices that do not compute bf16."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core import devices
from benchmark.core.errors import UserError
from tests.downstream.tiny_models import CAPTIONS, Checkpoints, MemorySubset, Recorder, draw, make, six_steps
from tests.jobs import make_job
from tests.pools import rows, write_pool

CPU = torch.device("cpu")


def test_bf16_rounds_what_fp32_computes(
    without_dropout: Checkpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: True)
    losses, vectors = {}, {}
    for precision in ("auto", "fp32", "bf16"):
        recipe, tracker = six_steps(samples_seen=8, precision=precision), Recorder()
        model = make("uncached", without_dropout, recipe)
        model.train(MemorySubset(CAPTIONS), tmp_path / precision, CPU, tracker, "f")
        losses[precision] = tracker.losses()[0]
        model.build(CPU)  # the same weights
        vectors[precision] = model.embed_images([draw(CAPTIONS[0])])
    assert losses["auto"] == losses["fp32"] != losses["bf16"] == pytest.approx(losses["fp32"], rel=0.1)
    assert np.array_equal(vectors["auto"], vectors["fp32"])
    assert not np.array_equal(vectors["bf16"], vectors["fp32"])
    assert np.allclose(vectors["bf16"], vectors["fp32"], atol=0.02)


def test_a_cpu_without_bf16_is_refused_before_scoring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_computes_bf16", lambda device: False)
    settings = [f"pool.url={write_pool(tmp_path / 'pool', [rows(5)])}", "pool=img2dataset", "models=demo"]
    sizes = ["size.samples=3", "budget=30", "filter=random", "task=train", "device=cpu", "precision=bf16"]
    with pytest.raises(UserError, match="precision=bf16 needs a GPU that computes bf16, or a CPU with"):
        make_job(*settings, *sizes).check()
