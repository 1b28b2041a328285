"""Scoring and selecting by a metadata column, without a cache, compared with plain Arrow and DataComp's recipe.

python -m pytest -m perf -s bench/test_column_speed.py
"""

import os
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch  # noqa: F401  imported by scoring when it begins; imports are not counted

from bench.listed_pools import write_metadata
from bench.measurement import compare, measure
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from benchmark.selection.top_k import select_top_k
from filters.column import Column

pytestmark = pytest.mark.perf
LISTED, SHARDS = 3_200_000, 32


def listed(folder: str, k: int) -> None:
    """Score by a column, with nothing in the cache, and select."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        table = score_pool(Pool("listed", folder), Column("score"), LocalEngine("cpu", 1))
        assert len(select_top_k(table, k, 0).uids) == k


def lowest_kept(folder: str, k: int) -> float:
    """Return the k-th highest of all scores."""
    scores = np.concatenate(
        [pq.read_table(path, columns=["score"])["score"].to_numpy() for path in Path(folder).iterdir()]
    )
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def plain_listed(folder: str, k: int) -> None:
    """A threshold over all scores, then the uids from it on: no check of captions, of uids or of duplicates."""
    lowest, words = lowest_kept(folder, k), []
    for path in Path(folder).iterdir():
        table = pq.read_table(path, columns=["uid", "score"])
        uids = table.filter(pc.greater_equal(table["score"], lowest))["uid"].to_pylist()
        words.append(np.frombuffer(bytes.fromhex("".join(uids)), ">u8").astype("u8"))
    uids = np.concatenate(words).view("u8,u8")
    assert len(uids[np.argsort(uids["f0"])]) >= k


def datacomp_listed(folder: str, k: int) -> None:
    """As DataComp's baselines.py does: uids parsed one by one into tuples."""
    lowest, chosen = lowest_kept(folder, k), []
    for path in Path(folder).iterdir():
        frame = pq.read_table(path).to_pandas()
        uids = frame[frame["score"] >= lowest]["uid"]
        chosen.append(np.array([(int(uid[:16], 16), int(uid[16:], 16)) for uid in uids], "u8,u8"))
    array = np.concatenate(chosen)
    array.sort()
    assert len(array) >= k


def test_a_column_from_nothing(tmp_path: Path) -> None:
    folder = str(tmp_path)
    write_metadata(folder, LISTED, LISTED // SHARDS)
    work = partial(measure, listed, folder, LISTED * 3 // 10)
    for name, function, goal, limit in (
        ("pyarrow and numpy", plain_listed, 1.5, 2),
        ("DataComp's recipe", datacomp_listed, 0.5, 0.5),
    ):
        reference = partial(measure, function, folder, LISTED * 3 // 10)
        row = compare(f"select 30% of 3.2M by a column, from nothing ({name})", work, name, reference, goal)
        assert row.ratio < limit
