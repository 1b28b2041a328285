"""Nodes with separate caches, as the two processes of a launch here, train what one process trains."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmark.core.cached_files import CACHE_VERSION
from tests.demos import draw, link
from tests.pools import rows, write_pool

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
DEMO = [
    "pool.demo.pairs=600", "pool.demo.shard_size=200", "pool.demo.evaluation={coco: 12, nocaps: 4, flickr30k: 8}",
]  # fmt: skip
RECIPE = ("samples_seen=240", "log_every=1", "checkpoint_every=100", "batch_size=20")
MODELS = ("captioner", "dual_encoder")
TRAIN = ["filter=random", "size.samples=20000", "engine.workers=1", "device=cpu"]
TRAIN += [f"downstream.{model}.training.{setting}" for model in MODELS for setting in RECIPE]
# A node has the cache of its rank, and works there.
NODES = """
cd $CACHES/$RANK
XDG_CACHE_HOME=$CACHES/$RANK exec "$@"
"""
TORCHRUN = [
    sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python",
]  # fmt: skip


def start(caches: Path, settings: Sequence[str]) -> "subprocess.Popen[str]":
    for rank in (0, 1):
        (caches / str(rank)).mkdir(exist_ok=True)
    environment = {"PYTHONPATH": str(ROOT), "CACHES": str(caches), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*TORCHRUN, "bash", "-c", NODES, "node", sys.executable, "-m", "benchmark", *settings],
        env=os.environ | environment | {"CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(caches: Path, settings: Sequence[str], exit_code: int = 0) -> str:
    """Return what a launch wrote to stderr."""
    launch = start(caches, settings)
    _, stderr = launch.communicate(timeout=300)
    assert launch.returncode == exit_code, stderr[-3000:]
    return stderr


def rooms(caches: Path, rank: int) -> Path:
    return caches / str(rank) / "pairsift" / CACHE_VERSION


def kill_after_a_checkpoint(launch: "subprocess.Popen[str]", caches: Path) -> None:
    while not list(rooms(caches, 0).glob("trained/captioner-*/checkpoints/step-*/state.json")):
        assert launch.poll() is None, launch.communicate()
        time.sleep(0.05)
    for process in Path(f"/proc/{launch.pid}/task/{launch.pid}/children").read_text().split():
        os.kill(int(process), signal.SIGKILL)
    launch.communicate(timeout=120)


def trained(cache: Path, model: str) -> tuple[list[float], dict[str, torch.Tensor]]:
    """Return the losses and the weights that a training left."""
    (folder,) = (cache / "trained").glob(f"{model}-*")
    assert not (folder / "checkpoints").exists()
    report = json.loads((folder / "finished.json").read_text())["value"]["report"]
    weights = {
        f"{file.parent.name}/{name}": tensor
        for file in (folder / "model").rglob("*.safetensors")
        for name, tensor in load_file(file).items()
    }
    return [loss for _, loss in report["losses"]], weights


def test_a_killed_launch_of_two_caches_ends_as_one_process(
    build_once: Callable[..., Path], tmp_path: Path
) -> None:
    drawn = build_once("separate caches", partial(draw, settings=DEMO))
    alone = tmp_path / "alone"
    link(drawn, alone)
    environment = {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(alone), "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-m", "benchmark", *DEMO, *TRAIN, "task=train"]
    subprocess.run(command, env=os.environ | environment, capture_output=True, timeout=300, check=True)

    link(drawn, tmp_path / "0")
    kill_after_a_checkpoint(start(tmp_path, [*DEMO, *TRAIN, "task=train"]), tmp_path)
    evaluated = ["~evalset.nocaps", "~evalset.classes", "metrics=[rouge_l]", "results_dir=results"]
    assert "captioner: resumed at step 5 of 12" in finish(tmp_path, [*DEMO, *TRAIN, *evaluated])
    for model in MODELS:
        losses, weights = trained(rooms(tmp_path, 0), model)
        expected, others = trained(alone / "pairsift" / CACHE_VERSION, model)
        assert len(expected) == 12
        assert losses == pytest.approx(expected, abs=2e-4)
        assert len(weights) == len(others) > 0
        assert all(torch.allclose(tensor, others[name], atol=2e-3) for name, tensor in weights.items())

    # The other node has copies of the tars, and neither a pool nor evaluation sets.
    assert sorted(path.name for path in (tmp_path / "1" / "pairsift").iterdir()) == [CACHE_VERSION]
    assert len(list(rooms(tmp_path, 1).glob("subsets/copies/*.tar"))) == 3
    assert not [path for path in rooms(tmp_path, 1).glob("trained/*/*") if path.name != "results"]
    assert not (tmp_path / "1" / "results").exists()


def test_a_local_pool_that_a_node_lacks_is_one_line(tmp_path: Path) -> None:
    for rank in (0, 1):
        write_pool(tmp_path / str(rank) / "pool", [rows(20), rows(20, start=20)])
    (tmp_path / "1" / "pool" / "shards" / "00000001.tar").unlink()
    settings = ["task=train", "pool=img2dataset", "pool.url=/proc/self/cwd/pool", "models=demo"]
    stderr = finish(tmp_path, [*TRAIN, *settings, "size.samples=30"], exit_code=1)
    (line,) = [line for line in stderr.splitlines() if line.startswith(("error:", "stopped"))]
    assert "cwd/pool/shards/00000001.tar, a tar of the pool, must be the same file on all nodes" in line
