"""Corpus statistics at three sizes: processor seconds, memory, and how both grow; beside the plain way in memory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import UID_DTYPE
from benchmark.scoring.feature_cache import save_features
from tests.perf.corpus_statistics import FILTERS

pytestmark = pytest.mark.perf
SHARD, WIDTH = 10_000, 512
SIZES = (5, 20, 80)  # shards: 50,000 to 800,000 pairs


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shards of unit vectors about 200 directions, as CLIP features are cached."""
    folder = tmp_path_factory.mktemp("features")
    rng = np.random.default_rng(0)
    topics = rng.standard_normal((200, WIDTH), np.float32)
    for number in range(SIZES[-1]):
        images = topics[rng.integers(0, 200, SHARD)] + rng.standard_normal((SHARD, WIDTH), np.float32)
        texts = images + rng.standard_normal((SHARD, WIDTH), np.float32)
        columns = {"image": images, "text": texts}
        unit = {name: of / np.linalg.norm(of, axis=1, keepdims=True) for name, of in columns.items()}
        uids = rng.integers(0, 2**64, (SHARD, 2), dtype=np.uint64).view(UID_DTYPE).ravel()
        save_features(folder / f"{number:04d}.arrow", uids, unit, {}, 0.0)
    return folder


def measure(name: str, features: Path, shards: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.perf.corpus_statistics", name, str(features), str(shards)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("name", ["gather", "rows", *FILTERS])
def test_memory_and_seconds_grow_by(name: str, features: Path) -> None:
    measured = [measure(name, features, shards) for shards in SIZES]
    (_, small, large), pairs = measured, (SIZES[2] - SIZES[1]) * SHARD
    growth = {key: (large[key] - small[key]) / pairs for key in large}
    exponent = np.log(large["seconds"] / small["seconds"]) / np.log(SIZES[2] / SIZES[1])
    print(f"\n{name}: {growth['seconds'] * 1e6:.1f} us a pair, seconds grow with the power {exponent:.2f}")
    for shards, of in zip(SIZES, measured, strict=True):
        anonymous, peak = (of[key] / 2**20 for key in ("anonymous", "peak"))
        print(
            f"  {shards * SHARD:>7,}: {of['seconds']:.1f} s, {anonymous:,.0f} MiB; with files {peak:,.0f} MiB"
        )
    print(f"  a pair more: {growth['anonymous']:,.0f} bytes; with files {growth['peak']:,.0f}")
    if name != "gather":
        assert growth["anonymous"] < 100  # embeddings alone take 2,048 bytes
