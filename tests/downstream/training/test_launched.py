"""Trainings that are spread over two processes."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.downstream.tiny_models import Checkpoints
from tests.downstream.training.launched import MODELS, train

SCRIPT = Path(__file__).with_name("launched.py")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def of_two(
    without_dropout: Checkpoints, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """The folder of the trainings, and their reports by model."""
    folder = tmp_path_factory.mktemp("two")
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = os.environ | {"PYTHONPATH": str(SCRIPT.parents[3]), "OMP_NUM_THREADS": "1"}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    command = [*torchrun, str(SCRIPT), json.dumps(asdict(without_dropout)), str(folder), *MODELS]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return folder, dict(zip(MODELS, reports, strict=True))


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    files = sorted((folder / "model").rglob("*.safetensors"))
    return {
        f"{file.parent.name}/{name}": tensor for file in files for name, tensor in load_file(file).items()
    }


@pytest.mark.parametrize("model", MODELS)
def test_two_processes_train_as_one(
    model: str, of_two: tuple[Path, dict[str, Any]], without_dropout: Checkpoints, tmp_path: Path
) -> None:
    one, two = train(model, without_dropout, tmp_path), of_two[1][model]
    assert len(one.losses) == 11
    assert [loss for _, loss in two["losses"]] == pytest.approx([loss for _, loss in one.losses], abs=2e-4)
    assert (two["skipped"], two["steps"], two["epochs"]) == (one.skipped, one.steps, one.epochs)
    assert set(one.skipped) == {"image_unreadable", "image_too_large"}
    expected, found = tensors(tmp_path / model), tensors(of_two[0] / model)
    assert expected
    assert all(torch.allclose(tensor, found[name], atol=2e-3) for name, tensor in expected.items())
