"""How web-like the captions of one pool are, as a record on disk."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from benchmark.core.batch import counts
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json, hash_text
from benchmark.core.progress import tracked
from benchmark.core.records import Schema
from benchmark.pool.exclusion import refuse_exclusions
from benchmark.pool.pool import Pool
from benchmark.results.provenance import Provenance, provenance
from pairsift.studies.profile.web_likeness.statistics import Likeness, measure_likeness
from pairsift.studies.profile.web_likeness.tokens import read_rated_words

TEXT = frozenset({"text"})
# Captions are drawn from this many shards, or from more where these have too few, and from the first rows of each.
SHARDS, ROWS = 16, 20_000


@dataclass(frozen=True)
class CaptionProfile(Provenance):
    """Statistics of a random sample of a pool's captions; `ratings_sha256` is of the rated words, None without."""

    SCHEMA: ClassVar[Schema] = Schema("caption_profile", 1, "profile", "python -m benchmark task=profile")

    pool: str
    url: str
    sample: int
    ratings_sha256: str | None
    likeness: Likeness
    run_id: str
    seed: int


def profile_captions(pool: Pool, count: int, ratings: Path | None, seed: int) -> CaptionProfile:
    """Measure a random sample of `count` captions; `ratings` is the file of words with a concreteness rating.

    Raises `UserError` when the pool has too few captions, or the ratings cannot be read.
    """
    rated = read_rated_words(ratings) if ratings else None
    digest = hash_text("\n".join(sorted(rated))) if rated else None
    likeness = measure_likeness(sample_captions(pool, count, seed), rated)
    shards = [f"{shard.name}-{shard.fingerprint}" for shard in pool.shards(TEXT)]
    identity = [pool.key, shards, count, digest, seed]
    return CaptionProfile(
        pool=pool.name,
        url=pool.url,
        sample=count,
        ratings_sha256=digest,
        likeness=likeness,
        run_id=f"{pool.name}-captions-{hash_json(identity, 8)}",
        seed=seed,
        **provenance(),
    )


def sample_captions(pool: Pool, count: int, seed: int) -> list[str]:
    """Return `count` usable captions of a pool, drawn without replacement; all of them if it has fewer.

    Memory is bounded by `SHARDS` times `ROWS`, or times `count` if that is more. If the pool has metadata, only
    that is read. Raises `UserError` if the pool lacks a usable caption.
    """
    refuse_exclusions(pool)
    rng = np.random.default_rng(seed)
    shards = pool.shards(TEXT)
    captions: list[str] = []
    unusable: Counter[str] = Counter()
    order = tracked("captions", rng.permutation(len(shards)), min(SHARDS, len(shards)), "shards")
    for position, number in enumerate(order):
        if position >= SHARDS and len(captions) >= count:
            break
        batches = pool.batches(shards[number], TEXT, max(ROWS, count), unusable)
        captions += next((batch.texts for batch in batches if batch.texts), [])
    if not captions:
        raise UserError(
            f"pool.url={pool.url} has no usable caption ({counts(unusable) or 'empty'}); name their column with"
            " pool.columns.text"
        )
    rows = rng.choice(len(captions), min(count, len(captions)), replace=False)
    return [captions[row] for row in rows]
