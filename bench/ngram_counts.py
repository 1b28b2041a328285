"""Counts of cached n-grams, as work that `measurement` calls in separate processes."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench.caches import cache_beside, copied_cache
from bench.listed_pools import write_metadata
from benchmark.core.uids import encode_uid_column
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.run.config import demo_model
from benchmark.scoring.feature_cache import save_features
from benchmark.scoring.score_pool import fit_filter, score_pool
from benchmark.scoring.shard_reader import features_path
from filters.informativeness import Informativeness

SHARD, WORDS = 20_000, 1_000_000
ENGINE = LocalEngine("cpu", 1)


def write_ngrams(folder: str, pairs: int) -> None:
    """Write metadata, and random n-grams with Zipf's frequencies of words to a cache in the same folder."""
    Path(folder, "metadata").mkdir()
    write_metadata(f"{folder}/metadata", pairs, SHARD)
    os.environ["XDG_CACHE_HOME"] = cache_beside(folder)
    pool, scorer = _pool(folder), _scorer()
    rng = np.random.default_rng(0)
    paths = sorted(Path(folder, "metadata").iterdir())
    for shard, path in zip(pool.shards(scorer.sources), paths, strict=True):
        uids = encode_uid_column(pq.read_table(path, columns=["uid"])["uid"])
        unigrams, bigrams = ([_words(rng, count) for count in rng.poisson(3, len(uids))] for _ in range(2))
        columns = {"unigrams": unigrams, "bigrams": [[f"small {word}" for word in of] for of in bigrams]}
        save_features(features_path(pool, shard, scorer.features[0]), uids, columns, {}, Seconds())


def fit(folder: str) -> Iterator[None]:
    """Count the n-grams of all captions."""
    with copied_cache(folder):
        yield
        fit_filter(_pool(folder), _scorer(), ENGINE)


def score(folder: str) -> Iterator[None]:
    """Score all captions by counts that are there."""
    with copied_cache(folder):
        fit_filter(_pool(folder), _scorer(), ENGINE)
        yield
        score_pool(_pool(folder), _scorer(), ENGINE)


def _words(rng: np.random.Generator, count: int) -> list[str]:
    return [f"word{number}" for number in rng.zipf(1.3, count).clip(max=WORDS).tolist()]


def _pool(folder: str) -> Pool:
    return Pool("listed", folder)


def _scorer() -> Informativeness:
    return Informativeness(demo_model("parser"))
