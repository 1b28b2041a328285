"""Trainings as processes of their own: killed for real, and spread over two."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.downstream.tiny_models import Checkpoints

SCRIPT = Path(__file__).with_name("launched.py")
ROOT = SCRIPT.parents[3]
pytestmark = pytest.mark.slow


def launch(
    model: str, tiny: Checkpoints, run_dir: Path, *rest: Any, processes: int = 1
) -> subprocess.CompletedProcess[str]:
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(torchrun if processes > 1 else []), str(SCRIPT)]
    command += [model, json.dumps(asdict(tiny)), str(run_dir), *map(str, rest)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def said(done: subprocess.CompletedProcess[str]) -> tuple[list[float], dict[str, Any]]:
    """Return the losses, and the last line."""
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    losses = [value for line in lines for key, value in line.items() if key.endswith("/loss")]
    return losses, lines[-1]


def tensors(run_dir: Path) -> dict[str, torch.Tensor]:
    files = sorted((run_dir / "model").rglob("*.safetensors"))
    assert files
    return {f"{file.parent.name}/{key}": tensor for file in files for key, tensor in load_file(file).items()}


@pytest.fixture(scope="session")
def without_dropout(checkpoints: Checkpoints) -> Checkpoints:
    """Ranks draw dropout of their own, so only models without it can be compared."""
    import shutil

    quiet = {}
    for name, folder in asdict(checkpoints).items():
        copy = Path(folder + "-quiet")
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        config = json.loads((copy / "config.json").read_text())
        dropouts = {key: 0.0 for key in config if "drop" in key or "pdrop" in key}
        (copy / "config.json").write_text(json.dumps(config | dropouts))
        quiet[name] = str(copy)
    return replace(checkpoints, **quiet)


@pytest.mark.parametrize("model", ["captioner", "locked", "ds_clip"])
def test_killed_and_started_again_ends_with_the_same_bits(
    model: str, checkpoints: Checkpoints, tmp_path: Path
) -> None:
    whole, expected = said(launch(model, checkpoints, tmp_path / "whole", 60))
    killed = launch(model, checkpoints, tmp_path / "cut", 60, 30)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "cut" / "finished.json").exists()
    losses, report = said(launch(model, checkpoints, tmp_path / "cut", 60))
    assert report == expected | {"resumed_from": 4}
    assert losses == whole[4:]
    one, other = tensors(tmp_path / "whole"), tensors(tmp_path / "cut")
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


@pytest.mark.parametrize("model", ["captioner", "locked", "unlocked", "ds_clip"])
def test_two_processes_train_as_one(model: str, without_dropout: Checkpoints, tmp_path: Path) -> None:
    alone, report = said(launch(model, without_dropout, tmp_path / "one", 61))
    spread, report_of_two = said(launch(model, without_dropout, tmp_path / "two", 61, processes=2))
    assert len(alone) == 11
    assert spread == pytest.approx(alone, abs=2e-4)
    assert report_of_two == report
    assert set(report["skipped"]) == {"image_unreadable", "image_too_large"}
    one, other = tensors(tmp_path / "one"), tensors(tmp_path / "two")
    assert all(torch.allclose(tensor, other[name], atol=2e-3) for name, tensor in one.items())
