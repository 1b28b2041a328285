"""Pools without tars, and work on them that `measurement` calls in separate processes."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch  # noqa: F401  imported by scoring when it begins; imports are not counted

from bench.caches import cache_beside, copied_cache
from benchmark.core.uids import UID_DTYPE, decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.base import Filter
from filters.column import Column
from filters.composite import RankSum
from filters.english import English
from pairsift.studies.ds_clip.cluster_selector import ClusterSelector

ROWS = 25_000  # of a file
CLUSTERS, EPOCHS = 1000, 4
COLUMNS = ("score", "other_score", "cluster")
FILTERS: dict[str, Callable[[], Filter]] = {"column": lambda: Column("score"), "english": English}
ENGINE = LocalEngine("cpu", 1)


def write_metadata(folder: str, pairs: int, rows: int = ROWS) -> None:
    """Write DataComp's metadata in files of so many rows: uids in hex, urls, captions, two scores, and a cluster."""
    rng = np.random.default_rng(0)
    for number, start in enumerate(range(0, pairs, rows)):
        count = min(rows, pairs - start)
        uids = decode_uids(rng.integers(0, 2**64, (count, 2), dtype=np.uint64).view(UID_DTYPE).ravel())
        table = {
            "uid": uids,
            "url": [f"https://images.example.org/{uid}.jpg" for uid in uids],
            "text": [f"a photo of a large dog on the beach, {uid[:9]}" for uid in uids],
            "score": rng.random(count, np.float32),
            "other_score": rng.random(count, np.float32),
            "cluster": rng.integers(0, CLUSTERS, count),
        }
        pq.write_table(pa.table(table), Path(folder, f"{number:05d}.parquet"))


def score(folder: str, name: str) -> None:
    """Score all pairs by a filter, with nothing in the cache."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        score_pool(Pool("listed", folder), FILTERS[name](), ENGINE)


def write_scored(folder: str, pairs: int) -> None:
    """Write metadata, and the scores by its columns to a cache in the same folder."""
    Path(folder, "metadata").mkdir()
    write_metadata(f"{folder}/metadata", pairs)
    os.environ["XDG_CACHE_HOME"] = cache_beside(folder)
    for name in COLUMNS:
        score_pool(Pool("listed", folder), Column(name), ENGINE)


def draw_from_clusters(folder: str) -> Iterator[None]:
    """Draw epochs of 10% each over clusters; scores and clusters are cached."""
    with copied_cache(folder):
        yield
        pool = Pool("listed", folder)
        table = score_pool(pool, Column("score"), ENGINE)
        selector = ClusterSelector(Column("cluster"), "size", "random")
        selector.select(table, len(table) // 10, EPOCHS, 0, pool, ENGINE)


def rank_sum(folder: str) -> Iterator[None]:
    """Score by the sum of the ranks by two cached scores."""
    parts = {name: Column(name) for name in COLUMNS[:2]}
    with copied_cache(folder):
        yield
        score_pool(Pool("listed", folder), RankSum(parts, dict.fromkeys(parts, 1.0)), ENGINE)
