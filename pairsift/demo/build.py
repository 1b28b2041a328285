"""Builds the demo pool in img2dataset's layout and its evaluation sets; equal configs give equal bytes."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmark.core.cached_files import intact
from benchmark.core.launch import ctrl_c_left_to_parent, end_with_parent
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_folder
from benchmark.core.progress import tracked
from pairsift.demo.evaluation_sets import SETS, write_evaluation_set
from pairsift.demo.settings import DemoConfig, demo_root
from pairsift.demo.shards import write_shard
from pairsift.demo.worlds import read_world


def ensure_demo(config: DemoConfig, workers: int = 2) -> Path:
    """Return the cache folder of the demo, which holds the pool and ``evalsets/``; build it if it is missing."""
    root = demo_root(config)
    with locked(root):
        if not intact(root):
            with atomic_folder(root) as folder:
                pairs = read_world(config.pairs, config.consistency, config.mismatched, bool(config.cut))
                _write(folder, config, pairs, workers, sets=True)
    return root


def build_pool(root: Path, config: DemoConfig, pairs: pa.Table, workers: int) -> None:
    """Write ``shards/*.tar`` and ``metadata/*.parquet`` of `pairs` to `root`, which appears once all are written."""
    with atomic_folder(root) as folder:
        _write(folder, config, pairs, workers, sets=False)


def _write(root: Path, config: DemoConfig, pairs: pa.Table, workers: int, *, sets: bool) -> None:
    size = config.shard_size
    jobs = [
        partial(write_shard, root, config, number, pairs.slice(start, size).combine_chunks())
        for number, start in enumerate(range(0, pairs.num_rows, size))
    ]
    if sets:
        jobs += [partial(write_evaluation_set, root / "evalsets" / name, config, name) for name in SETS]
    title, unit = "drawing the demo", "parts"
    if workers <= 1:
        for job in tracked(title, jobs, len(jobs), unit):
            job()
        return
    # Spawned, not forked: torch's thread pool in this process does not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, end_with_parent) as processes:
        with ctrl_c_left_to_parent():
            futures = [processes.submit(job) for job in jobs]
        for future in tracked(title, as_completed(futures), len(jobs), unit):
            future.result()
