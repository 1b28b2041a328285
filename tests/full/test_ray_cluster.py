"""A Ray cluster of two nodes on this machine: dead actors are replaced, and scores equal the local engine's."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.engine.ray import RayEngine
from benchmark.engine.workers import WORKER_RUNS
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_parts import read_part
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_work import ScoreShard
from tests.full.watched_filter import Watched
from tests.pools import rows, write_pool

pytestmark = pytest.mark.full
ROOT = Path(__file__).resolve().parents[2]


@dataclass
class TwoNodes:
    """A cluster with one CPU on each of two nodes."""

    cluster: Any
    second: Any

    @property
    def engine(self) -> RayEngine:
        return RayEngine(address=self.cluster.address)


@pytest.fixture(autouse=True)
def _quiet_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("ray") is None:
        pytest.skip("pip install 'pairsift[ray]'")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


@pytest.fixture
def nodes() -> Iterator[TwoNodes]:
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    yield TwoNodes(cluster, cluster.add_node(num_cpus=1))
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(30, start=30 * i) for i in range(8)])))


def scores_by_shard(pool: Pool, scorer: Watched) -> dict[str, tuple[Any, Any]]:
    return {shard.name: read_part(path) for shard, path in score_paths(pool, scorer).items()}


def assert_same_as_local(pool: Pool, scorer: Watched, cache: Path, patch: pytest.MonkeyPatch) -> None:
    on_ray = scores_by_shard(pool, scorer)
    patch.setenv("XDG_CACHE_HOME", str(cache / "local"))
    score_pool(pool, scorer, LocalEngine("cpu", 1))
    local = scores_by_shard(pool, scorer)
    assert on_ray.keys() == local.keys()
    for name, of_shard in local.items():
        assert all(map(np.array_equal, on_ray[name], of_shard))


def score(pool: Pool, scorer: Watched, engine: RayEngine) -> Iterator[Any]:
    parts = score_paths(pool, scorer)
    return engine.run(ScoreShard(pool, scorer, parts, Seconds(), None), list(parts))


def test_an_actor_that_is_killed_is_replaced(
    nodes: TwoNodes, pool: Pool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer, killed = Watched(str(tmp_path), 1.5), None  # longer than an actor takes to start
    for _ in score(pool, scorer, nodes.engine):
        if killed is None:
            killed = scorer.processes()[0]
            os.kill(killed, signal.SIGKILL)
    assert len(scorer.processes()) == 3  # two actors, and the one in place of the killed one
    assert WORKER_RUNS[-1].processor_seconds > 0
    assert_same_as_local(pool, scorer, cache, monkeypatch)


def test_a_run_ends_when_no_node_is_left_for_its_actors(
    nodes: TwoNodes, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmark.engine.ray.PLACEMENT_SECONDS", 2.0)
    third = nodes.cluster.add_node(num_cpus=2)
    scored = score(pool, Watched(str(tmp_path), 0.5), RayEngine(nodes.cluster.address, cpus=2))
    assert next(scored) == 30
    nodes.cluster.remove_node(third, allow_graceful=False)
    message = r"no node of the Ray cluster holds an actor with engine.cpus=2 .* 1 CPUs"
    with pytest.raises(UserError, match=message):
        list(scored)


def test_a_run_goes_on_with_nodes_that_join(
    nodes: TwoNodes, pool: Pool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look_often(monkeypatch)
    scorer = Watched(str(tmp_path), 3)
    engine = RayEngine(nodes.cluster.address, cpus=2, wait_minutes=2)
    third = nodes.cluster.add_node(num_cpus=2)
    engine._connect()
    with ThreadPoolExecutor(1) as thread:  # Ray starts nodes in the main one
        scored = thread.submit(score_pool, pool, scorer, engine)
        while not made(cache):
            assert not scored.done(), scored.result()
            time.sleep(0.1)
        nodes.cluster.remove_node(third, allow_graceful=False)
        time.sleep(3)
        for _ in range(2):  # in place of the lost node, and one more
            nodes.cluster.add_node(num_cpus=2)
        assert len(scored.result().scores) == 240
    assert len(scorer.processes()) == 3
    assert_same_as_local(pool, scorer, cache, monkeypatch)


def test_an_autoscaler_adds_the_nodes_that_actors_wait_for(
    pool: Pool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    look_often(monkeypatch)
    caplog.set_level("INFO", logger="benchmark.engine.ray")
    scorer = Watched(str(tmp_path), 2)
    with autoscaled(tmp_path, workers=2) as address:
        with pytest.raises(UserError, match=r"no node .* is 0 CPUs, .* autoscaler adds, let it wait with"):
            score_pool(pool, scorer, RayEngine(address, workers=2))
        score_pool(pool, scorer, RayEngine(address, workers=2, wait_minutes=2))
    assert len(scorer.processes()) == 2
    (line,) = (line for line in caplog.messages if "waiting for places on the cluster" in line)
    assert "each with engine.cpus=1 engine.gpus=0 engine.memory_gib=0" in line
    assert_same_as_local(pool, scorer, cache, monkeypatch)


def look_often(patch: pytest.MonkeyPatch) -> None:
    for module in ("ray", "workers"):
        patch.setattr(f"benchmark.engine.{module}.PLACEMENT_SECONDS", 1.0)


@contextmanager
def autoscaled(folder: Path, workers: int) -> Iterator[str]:
    """A head without CPUs, and Ray's autoscaler, which starts nodes of one CPU as raylets on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    kinds = {"ray.head.default": (0, 0), "worker": (1, workers)}
    steps = ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray", "worker_start_ray")
    config = {f"{step}_commands": [] for step in steps} | {
        "cluster_name": "fake", "max_workers": workers, "idle_timeout_minutes": 5, "upscaling_speed": 1.0,
        "head_node_type": "ray.head.default", "auth": {"ssh_user": "nobody"}, "file_mounts": {},
        "cluster_synced_files": [], "file_mounts_sync_continuously": False,
        "provider": {"type": "fake_multinode", "gcs_address": address, "disable_node_updaters": True},
        "available_node_types": {
            kind: {"node_config": {}, "resources": {"CPU": cpus}, "min_workers": 0, "max_workers": most}
            for kind, (cpus, most) in kinds.items()
        },
    }  # fmt: skip
    (folder / "autoscaler.json").write_text(json.dumps(config))
    sessions = TemporaryDirectory(ignore_cleanup_errors=True)  # a short path, as of sockets
    command = [
        str(Path(sys.executable).parent / "ray"), "start", "--head", "--num-cpus=0", "--include-dashboard=false",
        "--node-ip-address=127.0.0.1", f"--port={address.rpartition(':')[2]}",
        f"--autoscaling-config={folder / 'autoscaler.json'}", f"--temp-dir={sessions.name}",
    ]  # fmt: skip
    settings = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1"}
    try:
        subprocess.run(command, env=os.environ | settings, check=True, capture_output=True)
        yield address
    finally:
        import ray

        ray.shutdown()
        for path in Path("/proc").glob("[0-9]*/cmdline"):  # `ray stop` would end other clusters too
            with suppress(OSError):  # it has ended
                if sessions.name in path.read_text(errors="replace"):
                    os.kill(int(path.parent.name), signal.SIGKILL)
        sessions.cleanup()


def test_a_command_goes_on_where_its_killed_driver_was(
    nodes: TwoNodes, pool: Pool, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scorer = Watched(str(tmp_path), 0.5)
    command = [
        sys.executable, "-m", "benchmark", "task=score", "filter=random", "~filter.seed",
        "filter._target_=tests.full.watched_filter.Watched", f"+filter.folder={tmp_path}", "+filter.seconds=0.5",
        "pool=img2dataset", f"pool.url={pool.url}", "engine=ray", f"engine.address={nodes.cluster.address}",
    ]  # fmt: skip
    first = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
    end = time.monotonic() + 120
    while len(scorer.processes()) < 2 or not made(cache):
        assert first.poll() is None, first.communicate()
        assert time.monotonic() < end
        time.sleep(0.1)
    first.kill()
    first.communicate()
    before = made(cache)
    assert 0 < len(before) < 8
    second = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert second.returncode == 0, second.stderr
    after = made(cache)
    assert len(after) == 8
    assert before.items() <= after.items()
    assert len(scorer.processes()) == 4


def made(cache: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in cache.rglob("scores/**/[!.]*.parquet")}


def test_an_actor_for_no_node_is_refused_at_once(nodes: TwoNodes, pool: Pool, tmp_path: Path) -> None:
    message = r"no node of the Ray cluster holds an actor .* is 1 CPUs, 0 GPUs"
    for settings in ({"gpus": 1}, {"cpus": 2}, {"memory_gib": 100_000}):
        with pytest.raises(UserError, match=message):
            score_pool(pool, Watched(str(tmp_path), 0), RayEngine(nodes.cluster.address, **settings))


@dataclass
class WhichGpu:
    """Returns the GPU of each actor after `actors` of them have started."""

    folder: Path
    actors: int
    light = False

    def setup(self, device: str) -> None:
        assert device == "cuda"
        (self.folder / f"{os.getpid()}.pid").touch()

    def __call__(self, piece: int) -> str:
        end = time.monotonic() + 60
        while len(list(self.folder.glob("*.pid"))) < self.actors:
            assert time.monotonic() < end
            time.sleep(0.1)
        return os.environ["CUDA_VISIBLE_DEVICES"]


def test_actors_share_gpus_by_their_fractions(nodes: TwoNodes, tmp_path: Path) -> None:
    nodes.cluster.add_node(num_cpus=2, num_gpus=2)  # which Ray counts and assigns, without any here
    engine = RayEngine(nodes.cluster.address, cpus=0.1, gpus=0.4)
    engine._connect()
    assert engine._places() == 4
    gpus = engine.run(WhichGpu(tmp_path, 4), range(8))
    assert {next(gpus) for _ in range(8)} == {"0", "1"}
    assert len(list(tmp_path.glob("*.pid"))) == 4
