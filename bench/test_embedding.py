"""The GPU measurements of `make perf`, by a small model on a CPU."""

import json
import time
from pathlib import Path

import pytest
import torch

from bench.embedding import Passes, in_a_pipeline, in_series
from bench.photos import write_photos
from bench.processes import call
from pairsift.demo.settings import demo_model

CLIP = f"local-dir:{demo_model('clip')}"


class Slow(torch.nn.Module):
    """Takes 0.05 s."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(0.05)
        return x


def test_seconds_are_those_of_forward_passes() -> None:
    module = Slow()
    passes = Passes(module, torch.device("cpu"))
    began = time.monotonic()
    module(module(torch.zeros(1)))
    both = time.monotonic() - began
    time.sleep(0.05)
    assert 0.1 <= passes.seconds() <= both
    assert passes.seconds() == 0


@pytest.mark.slow
def test_the_share_of_a_model_is_larger_with_processes_that_decode(tmp_path: Path) -> None:
    (tar,) = write_photos(tmp_path, 1, 512)
    pipeline, series = tmp_path / "pipeline", tmp_path / "series"
    call(in_a_pipeline, [tar, CLIP, "cpu", str(pipeline), 1])
    call(in_series, [tar, CLIP, "cpu", str(series)])
    assert 0 < json.loads(series.read_text()) < json.loads(pipeline.read_text()) <= 1
