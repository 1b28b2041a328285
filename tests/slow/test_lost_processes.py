"""A process of a launch is killed: the others end with one line, and the next start ends as if nothing had been."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmark.core.cached_files import CACHE_VERSION
from tests.pools import rows, write_pool

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
RECIPE = ("samples_seen=200", "batch_size=10", "checkpoint_every=50", "log_every=1")
NOTICED = "error: another process of this launch has ended; run the same command to go on"
STOPPED = "stopped; run the same command to go on"


def start(pool: Path, cache: Path) -> subprocess.Popen[str]:
    settings = [
        "task=train",
        "pool=img2dataset",
        f"pool.url={pool}",
        "models=demo",
        "filter=random",
        "device=cpu",
    ]
    settings += ["size.samples=30", "downstream=captioner"]
    settings += [f"downstream.captioner.training.{setting}" for setting in RECIPE]
    environment = {"PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*TORCHRUN, "-m", "benchmark", *settings],
        env=os.environ | environment | {"CUDA_VISIBLE_DEVICES": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def process_of(rank: int, launch: int) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_child = f"PPid:\t{launch}\n" in (folder / "status").read_text()
            if is_child and f"RANK={rank}" in (folder / "environ").read_text().split("\0"):
                return int(folder.name)
        except OSError:
            continue
    raise AssertionError(f"no process of rank {rank}")


def kill_after_a_checkpoint(rank: int, launch: subprocess.Popen[str], cache: Path) -> str:
    """Return what was written to stderr."""
    while not list(cache.rglob("step-*/state.json")):
        assert launch.poll() is None, launch.communicate()
        time.sleep(0.1)
    os.kill(process_of(rank, launch.pid), signal.SIGKILL)
    return launch.communicate(timeout=120)[1]


def finish(pool: Path, cache: Path) -> tuple[str, bytes]:
    """Return the stderr of a launch that ends, and the weights."""
    launch = start(pool, cache)
    _, stderr = launch.communicate(timeout=300)
    assert launch.returncode == 0, stderr
    (weights,) = cache.rglob("model/model.safetensors")
    return stderr, weights.read_bytes()


@pytest.mark.parametrize("rank", [pytest.param(0, marks=pytest.mark.full), 1])
def test_the_others_end_with_one_line_and_the_next_start_goes_on(rank: int, tmp_path: Path) -> None:
    pool = write_pool(tmp_path / "pool", [rows(20), rows(20, start=20)])
    undisturbed, weights = finish(pool, tmp_path / "whole")
    assert undisturbed.count("select: 30 of 40") == 1
    cache = tmp_path / "killed"
    launch = start(pool, cache)
    stderr = kill_after_a_checkpoint(rank, launch, cache)
    assert launch.returncode == 1
    (line,) = [line for line in stderr.splitlines() if line.startswith(("error:", "stopped;"))]
    assert line in {NOTICED, STOPPED}  # torchrun stops a process that has not noticed yet
    assert not re.search(r"^\[rank\d\]|Error executing job", stderr, re.MULTILINE)  # no traceback of ours
    resumed, same = finish(pool, cache)
    assert "resumed at step" in resumed
    assert same == weights
    assert not list((cache / "pairsift" / CACHE_VERSION / "launches").iterdir())
