"""Ray and Hydra's joblib launcher; both are extras, so their tests skip where they are not installed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark.engine.local import LocalEngine
from benchmark.engine.ray import RayEngine
from benchmark.pool import Pool
from benchmark.scores import score_pool
from filters.random import Random
from tests.pools import rows, write_pool

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def test_ray_gives_the_scores_of_the_local_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="pip install 'pairsift[ray]'")
    pool = Pool("p", str(write_pool(tmp_path / "pool", [rows(5), rows(5, start=5), rows(5, start=10)])))
    local = score_pool(pool, Random(), LocalEngine("cpu", 1))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    on_ray = score_pool(pool, Random(), RayEngine(workers=2))
    assert on_ray.reused == 0
    assert (on_ray.uids == local.uids).all()
    assert np.array_equal(on_ray.scores, local.scores)


def test_joblib_launches_a_sweep(tmp_path: Path) -> None:
    pytest.importorskip("hydra_plugins.hydra_joblib_launcher", reason="pip install 'pairsift[joblib]'")
    pool = write_pool(tmp_path / "pool", [rows(20)])
    command = [sys.executable, "-m", "benchmark", "-m", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"]
    command += ["task=select", "pool=img2dataset", f"pool.url={pool}", "filter=random", "size.samples=5,7"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ.copy(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    found = list((Path(os.environ["XDG_CACHE_HOME"]) / "pairsift" / "selections").rglob("*.npy"))
    assert sorted(len(np.load(path)) for path in found) == [5, 7]
