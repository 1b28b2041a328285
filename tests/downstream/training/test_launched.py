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


def launch(
    models: Sequence[str], tiny: Checkpoints, folder: Path, *rest: Any, processes: int = 1
) -> subprocess.CompletedProcess[str]:
    """Train models one after the other in one launch: to start one costs more than to train ten."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [sys.executable, *(torchrun if processes > 1 else []), str(SCRIPT)]
    command += [",".join(models), json.dumps(asdict(tiny)), str(folder), *map(str, rest)]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def trained(
    done: subprocess.CompletedProcess[str], models: Sequence[str], folder: Path
) -> dict[str, Trained]:
    assert done.returncode == 0, done.stderr[-3000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    of_model = {name: [line for line in lines if line["model"] == name] for name in models}
    return {
        name: Trained(folder / name, [v for e in said for k, v in e.items() if k.endswith("/loss")], said[-1])
        for name, said in of_model.items()
    }


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


KILLED = ("captioner", "locked", "ds_clip")
SPREAD = (*KILLED, "unlocked")


@pytest.fixture(scope="module")
def resumed(
    checkpoints: Checkpoints, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Trained], dict[str, Trained]]:
    """Models trained in one go, and models whose process was killed and started again."""
    whole, cut = (tmp_path_factory.mktemp(name) for name in ("whole", "cut"))
    in_one_go = trained(launch(KILLED, checkpoints, whole, 60), KILLED, whole)
    for model in KILLED:
        killed = launch([model], checkpoints, cut, 60, 30)
        assert killed.returncode == -signal.SIGKILL
        assert not (cut / model / "finished.json").exists()
    return in_one_go, trained(launch(KILLED, checkpoints, cut, 60), KILLED, cut)


@pytest.fixture(scope="module")
def spread(
    without_dropout: Checkpoints, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Trained], dict[str, Trained]]:
    """Models trained by one process, and by two."""
    one, two = (tmp_path_factory.mktemp(name) for name in ("one", "two"))
    alone = trained(launch(SPREAD, without_dropout, one, 61), SPREAD, one)
    return alone, trained(launch(SPREAD, without_dropout, two, 61, processes=2), SPREAD, two)


@pytest.mark.parametrize("model", KILLED)
def test_killed_and_started_again_ends_with_the_same_bits(
    model: str, resumed: tuple[dict[str, Trained], dict[str, Trained]]
) -> None:
    whole, cut = (trainings[model] for trainings in resumed)
    assert cut.report == whole.report | {"resumed_from": 4}
    assert cut.losses == whole.losses[4:]
    other = cut.tensors()
    assert all(torch.equal(tensor, other[name]) for name, tensor in whole.tensors().items())


@pytest.mark.parametrize("model", SPREAD)
def test_two_processes_train_as_one(
    model: str, spread: tuple[dict[str, Trained], dict[str, Trained]]
) -> None:
    one, two = (trainings[model] for trainings in spread)
    assert len(one.losses) == 11
    assert two.losses == pytest.approx(one.losses, abs=2e-4)
    assert two.report == one.report
    assert set(one.report["skipped"]) == {"image_unreadable", "image_too_large"}
    other = two.tensors()
    assert all(torch.allclose(tensor, other[name], atol=2e-3) for name, tensor in one.tensors().items())
