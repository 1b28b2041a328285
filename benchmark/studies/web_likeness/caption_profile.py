"""How web-like the captions of one pool are, as a record on disk."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from benchmark.core.hashes import hash_json, hash_text
from benchmark.core.records import Schema
from benchmark.pool.pool import Pool
from benchmark.results.provenance import provenance
from benchmark.studies.web_likeness.caption_sample import TEXT, sample_captions
from benchmark.studies.web_likeness.statistics import Likeness, measure_likeness
from benchmark.studies.web_likeness.tokens import read_rated_words


@dataclass(frozen=True)
class CaptionProfile:
    """Statistics of a random sample of a pool's captions.

    Args:
        pool: name of the pool.
        url: of the pool.
        sample: captions asked for.
        ratings_sha256: hash of the rated words; None without them.
        likeness: the statistics.
        run_id: a readable name and a hash of all that the numbers depend on.
        seed: random seed of the sample.
        git_commit: commit that the code was run from; None outside git.
        versions: versions of Python and libraries by name.
        machine: architecture, cores, GPUs.
        finished: time, in ISO 8601.
    """

    SCHEMA: ClassVar[Schema] = Schema("caption_profile", 1, "profile", "python -m benchmark task=profile")

    pool: str
    url: str
    sample: int
    ratings_sha256: str | None
    likeness: Likeness
    run_id: str
    seed: int
    git_commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    finished: str = ""


def profile_captions(pool: Pool, count: int, ratings: Path | None, seed: int) -> CaptionProfile:
    """Measure a random sample of `count` captions; `ratings` is the file of words with a concreteness rating.

    Raises:
        UserError: when the pool has too few captions, or the ratings cannot be read.
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
