"""Writes the demo: a pool in img2dataset's layout and its evaluation sets, the same bytes for the same config."""

import hashlib
import json
import multiprocessing
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmark.core.locks import locked
from benchmark.core.paths import atomic_folder, cache_dir
from benchmark.core.progress import progress
from benchmark.demo.evaluation_sets import SETS, write_evaluation_set
from benchmark.demo.shards import write_shard

# Raise it with every change of what is drawn or written: caches of older worlds are then left alone.
GENERATOR_VERSION = 2


@dataclass(frozen=True)
class DemoConfig:
    """What the demo consists of.

    `noise` gives each kind's `share` of the pool and, for the reader, the figure that it `follows`;
    `evaluation` gives each set's number of images (for NoCaps: in each domain).
    """

    pairs: int
    shard_size: int
    image_size: int
    jpeg_quality: int
    seed: int
    noise: Mapping[str, Mapping[str, Any]]
    evaluation: Mapping[str, int]

    @property
    def shares(self) -> dict[str, float]:
        """The share of each kind of noise."""
        return {kind: float(entry["share"]) for kind, entry in self.noise.items()}

    @property
    def fingerprint(self) -> str:
        """What identifies the demo's bytes: everything but the reasons for the shares."""
        fields = {**asdict(self), "noise": self.shares, "version": GENERATOR_VERSION}
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:16]


def demo_root(config: DemoConfig) -> Path:
    """Return the folder of this demo in the user's cache; it may not be there yet."""
    return cache_dir() / "demo" / config.fingerprint


def ensure_demo(config: DemoConfig, workers: int = 2) -> Path:
    """Return the folder of the demo, drawn first if it is absent: the pool, and ``evalsets/`` in it."""
    root = demo_root(config)
    with locked(root):
        if not root.is_dir():
            with atomic_folder(root) as folder:
                _write(folder, config, workers, sets=True)
    return root


def build_pool(root: Path, config: DemoConfig, workers: int) -> None:
    """Write the pool alone to `root`: ``shards/*.tar`` and ``metadata/*.parquet``, whole or not at all."""
    with atomic_folder(root) as folder:
        _write(folder, config, workers, sets=False)


def _write(root: Path, config: DemoConfig, workers: int, *, sets: bool) -> None:
    shards = -(-config.pairs // config.shard_size)
    jobs = [partial(write_shard, root, config, shard) for shard in range(shards)]
    if sets:
        jobs += [partial(write_evaluation_set, root / "evalsets" / name, config, name) for name in SETS]
    with progress("drawing the demo", len(jobs), "parts") as advance:
        if workers <= 1:
            for job in jobs:
                job()
                advance(1, "")
            return
        # Spawned, not forked: the threads that torch keeps in this process do not survive a fork.
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as processes:
            for done in as_completed([processes.submit(job) for job in jobs]):
                done.result()
                advance(1, "")
