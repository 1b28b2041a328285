"""A process of a launch is killed: the others end with one line, and the next start ends as if nothing had been."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import reshard
from benchmark.pool.subset import selected_samples
from tests.pools import rows, write_pool
from tests.servers import s3_server

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
RECIPE = ("samples_seen=200", "batch_size=10", "checkpoint_every=50", "log_every=1")
NOTICED = "error: another process of this launch has ended; run the same command to go on"
STOPPED = "stopped; run the same command to go on"


SOME = ("filter=random", "size.samples=30")
STREAM = ("filter=no_filter", "size=all", "training.source=stream")


def start(pool: Path | str, cache: Path, settings: Sequence[str] = SOME) -> subprocess.Popen[str]:
    settings = [
        "task=train",
        "pool=img2dataset",
        f"pool.url={pool}",
        "models=demo",
        "device=cpu",
        "downstream=captioner",
        *settings,
    ]
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


def finish(pool: Path | str, cache: Path, settings: Sequence[str] = SOME) -> tuple[str, bytes]:
    """Return the stderr of a launch that ends, and the weights."""
    launch = start(pool, cache, settings)
    _, stderr = launch.communicate(timeout=300)
    assert launch.returncode == 0, stderr
    (weights,) = cache.rglob("model/model.safetensors")
    return stderr, weights.read_bytes()


@pytest.fixture
def pool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Forty pairs; resharded on S3 for a stream, which reads all of them."""
    folder = write_pool(tmp_path / "pool", [rows(20), rows(20, start=20)])
    if request.param == SOME:
        yield str(folder)
        return
    local = Pool("x", str(folder))
    uids = np.sort(np.concatenate([local.index(shard).uids for shard in local.tars]))
    reshard(local, selected_samples(local, uids), tmp_path / "new", LocalEngine(workers=1), shard_size=7)
    with s3_server(monkeypatch) as s3:
        s3.put(str(tmp_path / "new"), "bucket/new", recursive=True)
        yield "s3://bucket/new"


FULL = pytest.mark.full
CASES = [
    pytest.param(0, SOME, SOME, marks=FULL),
    pytest.param(1, SOME, SOME, marks=FULL),
    (1, STREAM, STREAM),
]


@pytest.mark.parametrize(("rank", "pool", "settings"), CASES, indirect=["pool"])
def test_the_others_end_with_one_line_and_the_next_start_goes_on(
    rank: int, pool: str, settings: Sequence[str], tmp_path: Path
) -> None:
    undisturbed, weights = finish(pool, tmp_path / "whole", settings)
    assert len(re.findall(r"select: \d+ of 40", undisturbed)) == 1
    cache = tmp_path / "killed"
    launch = start(pool, cache, settings)
    stderr = kill_after_a_checkpoint(rank, launch, cache)
    assert launch.returncode == 1
    (line,) = [line for line in stderr.splitlines() if line.startswith(("error:", "stopped;"))]
    assert line in {NOTICED, STOPPED}  # torchrun stops a process that has not noticed yet
    assert not re.search(r"^\[rank\d\]|Error executing job", stderr, re.MULTILINE)  # no traceback of ours
    resumed, same = finish(pool, cache, settings)
    assert "resumed at step" in resumed
    assert same == weights
    assert settings == SOME or not list(cache.rglob("*.tar"))  # a stream makes no copy
