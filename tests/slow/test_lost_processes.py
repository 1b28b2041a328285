"""Launches of two processes, as on two nodes: they train what one process trains, also if one of them is killed."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from benchmark.core.cached_files import CACHE_VERSION
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from tests.demos import draw, link
from tests.pools import rows, write_pool
from tests.servers import s3_server

pytestmark = pytest.mark.full
ROOT = Path(__file__).resolve().parents[2]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
# With caches of their own, a node has the cache of its rank, and works there.
AS_NODE = 'cd $CACHES/$RANK\nXDG_CACHE_HOME=$CACHES/$RANK exec "$@"'
NODES = ["--no-python", "bash", "-c", AS_NODE, "node", sys.executable]
NOTICED = "error: another process of this launch has ended; run the same command to go on"
STOPPED = "stopped; run the same command to go on"


def start(settings: Sequence[str], cache: Path, *, separate: bool = False) -> "subprocess.Popen[str]":
    """Two processes of a launch, with one cache or with ``cache/0`` and ``cache/1``."""
    for rank in ("0", "1") if separate else ():
        (cache / rank).mkdir(exist_ok=True)
    caches = {"CACHES": str(cache), "XDG_CACHE_HOME": str(cache)}
    environment = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""} | caches
    return subprocess.Popen(
        [*TORCHRUN, *(NODES if separate else []), "-m", "benchmark", *settings],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(launch: "subprocess.Popen[str]", exit_code: int = 0) -> str:
    """Return what the launch wrote to stderr."""
    _, stderr = launch.communicate(timeout=300)
    assert launch.returncode == exit_code, stderr[-3000:]
    return stderr


def kill_after_a_checkpoint(launch: "subprocess.Popen[str]", cache: Path, *ranks: int) -> str:
    """Kill the processes of these ranks; return what was written to stderr."""
    while not list(cache.rglob("step-*/state.json")):
        assert launch.poll() is None, launch.communicate()
        time.sleep(0.05)
    for process in Path(f"/proc/{launch.pid}/task/{launch.pid}/children").read_text().split():
        environment = Path("/proc", process, "environ").read_text().split("\0")
        if {f"RANK={rank}" for rank in ranks} & set(environment):
            os.kill(int(process), signal.SIGKILL)
    return launch.communicate(timeout=120)[1]


RECIPE = ("samples_seen=200", "batch_size=10", "checkpoint_every=50", "log_every=1")
SOME = ("filter=random", "size.samples=30")
STREAM = ("filter=no_filter", "size=all", "training.source=stream")


def captioner(pool: str, settings: Sequence[str]) -> list[str]:
    """The command that trains a captioner."""
    command = ["task=train", "pool=img2dataset", f"pool.url={pool}", "models=demo", "device=cpu", *settings]
    recipe = [f"downstream.captioner.training.{setting}" for setting in RECIPE]
    return [*command, "downstream=captioner", *recipe]


@pytest.fixture
def pool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Forty pairs; resharded on S3 for a stream, which reads all of them."""
    folder = write_pool(tmp_path / "pool", [rows(20), rows(20, start=20)])
    if request.param == SOME:
        yield str(folder)
        return
    local = Pool("x", str(folder))
    uids = np.sort(np.concatenate([local.index(shard).uids for shard in local.tars]))
    write_shards(local, uids, tmp_path / "new", LocalEngine(workers=1), shard_size=7)
    with s3_server(monkeypatch) as s3:
        s3.put(str(tmp_path / "new"), "bucket/new", recursive=True)
        yield "s3://bucket/new"


@pytest.mark.parametrize(
    ("rank", "pool", "settings"), [(0, SOME, SOME), (1, SOME, SOME), (1, STREAM, STREAM)], indirect=["pool"]
)
def test_the_others_end_with_one_line_and_the_next_start_goes_on(
    rank: int, pool: str, settings: Sequence[str], tmp_path: Path
) -> None:
    command, cache = captioner(pool, settings), tmp_path / "killed"
    undisturbed = finish(start(command, tmp_path / "whole"))
    assert len(re.findall(r"select: \d+ of 40", undisturbed)) == 1
    launch = start(command, cache)
    stderr = kill_after_a_checkpoint(launch, cache, rank)
    assert launch.returncode == 1
    (line,) = [line for line in stderr.splitlines() if line.startswith(("error:", "stopped;"))]
    assert line in {NOTICED, STOPPED}  # torchrun stops a process that has not noticed yet
    assert not re.search(r"^\[rank\d\]|Error executing job", stderr, re.MULTILINE)  # no traceback of ours
    assert "resumed at step" in finish(start(command, cache))
    weights = [
        file for of in ("whole", "killed") for file in (tmp_path / of).rglob("model/model.safetensors")
    ]
    assert len({file.read_bytes() for file in weights}) == 1 < len(weights)
    assert settings == SOME or not list(cache.rglob("*.tar"))  # a stream makes no copy


DEMO = [
    "pool.demo.pairs=600", "pool.demo.shard_size=200", "pool.demo.evaluation={coco: 12, nocaps: 4, flickr30k: 8}",
]  # fmt: skip
STEPS = ("samples_seen=240", "log_every=1", "checkpoint_every=100", "batch_size=20")
MODELS = ("captioner", "dual_encoder")
TRAIN = ["filter=random", "size.samples=20000", "engine.workers=1", "device=cpu"]
TRAIN += [f"downstream.{model}.training.{setting}" for model in MODELS for setting in STEPS]


def rooms(caches: Path, rank: int) -> Path:
    return caches / str(rank) / "pairsift" / CACHE_VERSION


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
    kill_after_a_checkpoint(
        start([*DEMO, *TRAIN, "task=train"], tmp_path, separate=True), tmp_path / "0", 0, 1
    )
    evaluated = ["~evalset.nocaps", "~evalset.classes", "metrics=[rouge_l]", "results_dir=results"]
    assert "captioner: resumed at step 5 of 12" in finish(
        start([*DEMO, *TRAIN, *evaluated], tmp_path, separate=True)
    )
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
    stderr = finish(start([*TRAIN, *settings, "size.samples=30"], tmp_path, separate=True), exit_code=1)
    (line,) = [line for line in stderr.splitlines() if line.startswith(("error:", "stopped"))]
    assert "cwd/pool/shards/00000001.tar, a tar of the pool, must be the same file on all nodes" in line
