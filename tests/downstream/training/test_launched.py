"""Trainings as processes of their own: killed for real, and spread over two."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.downstream.tiny_models import Checkpoints
from tests.downstream.training.launched import Training

SCRIPT = Path(__file__).with_name("launched.py")
ROOT = SCRIPT.parents[3]
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Trained:
    """What a process printed of one model's training, and where it left it."""

    folder: Path
    losses: list[float]
    report: dict[str, Any]

    def tensors(self) -> dict[str, torch.Tensor]:
        files = sorted((self.folder / "model").rglob("*.safetensors"))
        assert files
        return {f"{f.parent.name}/{key}": tensor for f in files for key, tensor in load_file(f).items()}


def launch(trainings: Sequence[Training], processes: int = 1) -> list[dict[str, Any]]:
    """Train one after the other in one launch, and return the lines that it prints, one per step and per end."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(torchrun if processes > 1 else []), str(SCRIPT)]
    command.append(json.dumps([asdict(training) for training in trainings]))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def trained(lines: Sequence[dict[str, Any]], training: Training) -> Trained:
    said = [
        {key: value for key, value in line.items() if key != "name"}
        for line in lines
        if line["name"] == training.name and "ended" not in line
    ]
    losses = [value for line in said for key, value in line.items() if key.endswith("/loss")]
    return Trained(Path(training.folder), losses, said[-1])


KILLED = ("captioner", "lstm", "locked", "ds_clip", "clip_scratch")
SPREAD = (
    *(*KILLED, "unlocked", "captioner in parts", "locked in parts", "unlocked in parts"),
    *("summed", "summed in parts", "clip_scratch in parts"),
)


Two = dict[str, tuple[Trained, Trained]]  # by model


@pytest.fixture(scope="module")
def compared(
    checkpoints: Checkpoints, without_dropout: Checkpoints, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Two, Two]:
    """Models trained in one go and by processes of which the first was killed; by one process and by two."""
    root, tiny, quiet = tmp_path_factory.mktemp("launched"), asdict(checkpoints), asdict(without_dropout)
    whole = [Training(f"{m} whole", m, tiny, str(root / "whole" / m), 60) for m in KILLED]
    killed = [Training(f"{m} killed", m, tiny, str(root / "cut" / m), 60, kill_at=30) for m in KILLED]
    again = [replace(training, name=f"{training.model} again", kill_at=None) for training in killed]
    alone = [Training(f"{m} alone", m, quiet, str(root / "alone" / m), 61) for m in SPREAD]
    spread = [replace(training, folder=str(root / "spread" / training.model)) for training in alone]

    lines = launch([*whole, *killed, *again, *alone])
    ended = {line["name"]: line["ended"] for line in lines if "ended" in line}
    assert ended == {t.name: -signal.SIGKILL if t.kill_at else 0 for t in (*whole, *killed, *again, *alone)}
    of_two = launch(spread, processes=2)
    return (
        {a.model: (trained(lines, a), trained(lines, b)) for a, b in zip(whole, again, strict=True)},
        {a.model: (trained(lines, a), trained(of_two, b)) for a, b in zip(alone, spread, strict=True)},
    )


@pytest.mark.parametrize("model", KILLED)
def test_killed_and_started_again_ends_with_the_same_bits(model: str, compared: tuple[Two, Two]) -> None:
    whole, cut = compared[0][model]
    assert cut.report == whole.report | {"resumed_from": 4}
    assert cut.losses == whole.losses[4:]
    other = cut.tensors()
    assert all(torch.equal(tensor, other[name]) for name, tensor in whole.tensors().items())


@pytest.mark.parametrize("model", SPREAD)
def test_two_processes_train_as_one(model: str, compared: tuple[Two, Two]) -> None:
    one, two = compared[1][model]
    assert len(one.losses) == 11
    assert two.losses == pytest.approx(one.losses, abs=2e-4)
    assert two.report == one.report
    assert set(one.report["skipped"]) == {"image_unreadable", "image_too_large"}
    other = two.tensors()
    assert all(torch.allclose(tensor, other[name], atol=2e-3) for name, tensor in one.tensors().items())
