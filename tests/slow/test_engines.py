"""Ray and Hydra's launchers; they are extras, so their tests skip where they are not installed."""

from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.engine.local import LocalEngine
from benchmark.engine.ray import RayEngine
from benchmark.engine.workers import WORKER_RUNS
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.embeddings.cluster_labels import ClusterLabels
from filters.embeddings.timm_features import TimmFeatures
from filters.random import Random
from tests.command_line import Run
from tests.pools import rows, write_pool
from tests.pretended_task import PRETEND

pytestmark = pytest.mark.slow  # tests that are also `full` stay out of CI: each of ray's actors imports torch


@pytest.fixture(scope="module")
def ray() -> Iterator[RayEngine]:
    """Ray on this machine, started once for the module: that takes longer than what the tests do with it."""
    if find_spec("ray") is None:
        pytest.skip("pip install 'pairsift[ray]'")
    yield RayEngine(workers=2)  # sets what Ray reads when it is imported
    import ray

    ray.shutdown()


def test_ray_gives_the_scores_of_the_local_engine(
    ray: RayEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(5), rows(5, start=5), rows(5, start=10)])))
    local = score_pool(pool, Random(), LocalEngine("cpu", 1))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    runs = len(WORKER_RUNS)
    on_ray = score_pool(pool, Random(), ray)
    assert on_ray.reused == 0
    (workers,) = WORKER_RUNS[runs:]
    assert workers.processor_seconds > 0 < workers.peak_rss_bytes
    assert (on_ray.uids == local.uids).all()
    assert np.array_equal(on_ray.scores, local.scores)


@pytest.mark.full
def test_ray_raises_the_same_error_as_the_local_engine(ray: RayEngine, tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(5), rows(5, start=5)])))
    labels = ClusterLabels(TimmFeatures("vit_small_patch8_224.dino"), of="image", clusters=2, seed=0)
    for engine in (LocalEngine("cpu", 2), ray):
        with pytest.raises(
            UserError, match=r"timm model vit_small_patch8_224.dino cannot be loaded .*; load it"
        ):
            score_pool(pool, labels, engine)


LAUNCHERS = [
    pytest.param(["joblib", "hydra.launcher.n_jobs=2"], id="joblib", marks=pytest.mark.full),
    pytest.param(["submitit_local"], id="submitit"),
    pytest.param(["ray"], id="ray", marks=pytest.mark.full),
]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_launcher_ends_with_the_error_of_a_job(run: Run, launcher: list[str]) -> None:
    name = launcher[0].partition("_")[0]
    pytest.importorskip(f"hydra_plugins.hydra_{name}_launcher", reason=f"pip install 'pairsift[{name}]'")
    done = run(f"hydra/launcher={launcher[0]}", *launcher[1:], *PRETEND, "seed=4,5,6")
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].endswith("error: job 2: seed=5 must be another")
    assert "Error executing" not in done.stderr, "Hydra's line, which shows passwords"


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_launched_jobs_score_with_two_workers(
    run: Run, cache: Path, tmp_path: Path, launcher: list[str]
) -> None:
    name = launcher[0].partition("_")[0]
    pytest.importorskip(f"hydra_plugins.hydra_{name}_launcher", reason=f"pip install 'pairsift[{name}]'")
    # Processes outlive the test before, and have that test's cache folder.
    if name == "joblib":
        import_module("joblib.externals.loky").get_reusable_executor().shutdown()
    elif name == "ray":
        import_module("ray").shutdown()
    pool = write_pool(tmp_path / "pool", [rows(5), rows(5, start=5)])
    done = run(
        f"hydra/launcher={launcher[0]}", *launcher[1:], "task=score", "engine.workers=2",
        "pool=img2dataset", f"pool.url={pool}", "filter=random", "~filter.seed",
        "filter._target_=tests.full.watched_filter.Watched", f"+filter.folder={tmp_path}", "+filter.seconds=1,2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    parts = Counter(path.parent.name for path in cache.rglob("scores/*/*/*.parquet"))
    assert [*parts.values()] == [2, 2]
    assert len(list(tmp_path.glob("*.pid"))) == 4  # a process for each shard of each job
