"""N-grams of the demo's captions, parsed and counted, as work that `measurement` calls in separate processes."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch  # noqa: F401  imported by scoring when it begins; imports are not counted

from bench.caches import cache_beside, copied_cache
from benchmark.core.uids import UID_DTYPE, decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import fit_filter, score_pool
from filters.informativeness import Informativeness
from pairsift.demo.settings import demo_model
from pairsift.demo.worlds import WORLDS

IMPORTS = ("spacy",)
SHARD = 20_000  # captions of a file; the demo has 80,000, so no file has a caption twice
ENGINE = LocalEngine("cpu", 1)


def write_captions(folder: str, pairs: int) -> None:
    """Write metadata with the demo's captions, over and over, and their n-grams to a cache in the same folder."""
    Path(folder, "metadata").mkdir()
    rng = np.random.default_rng(0)
    captions = [
        words.partition("\n")[0] for words in pq.read_table(WORLDS / "cut.parquet")["words"].to_pylist()
    ]
    for number, start in enumerate(range(0, pairs, SHARD)):
        rows = range(start, min(start + SHARD, pairs))
        uids = decode_uids(rng.integers(0, 2**64, (len(rows), 2), dtype=np.uint64).view(UID_DTYPE).ravel())
        table = {"uid": uids, "url": uids, "text": [captions[row % len(captions)] for row in rows]}
        pq.write_table(pa.table(table), Path(folder, "metadata", f"{number:05d}.parquet"))
    os.environ["XDG_CACHE_HOME"] = cache_beside(folder)
    fit_filter(_pool(folder), _scorer(), ENGINE)


def fit(folder: str) -> None:
    """Parse all captions and count their n-grams, with nothing in the cache."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        fit_filter(_pool(folder), _scorer(), ENGINE)


def score(folder: str) -> Iterator[None]:
    """Score all captions by n-grams and counts that are cached."""
    with copied_cache(folder):
        yield
        score_pool(_pool(folder), _scorer(), ENGINE)


def _pool(folder: str) -> Pool:
    return Pool("listed", folder)


def _scorer() -> Informativeness:
    return Informativeness(demo_model("parser"))
