"""One pool profiled, and the typed JSON that says so."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.core.records import read_records, write_record
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.results.result import provenance
from benchmark.studies.profile.clusters import cluster_images
from benchmark.studies.profile.examples import Example, top_examples
from benchmark.studies.profile.intervals import Estimate
from benchmark.studies.profile.measurements import measure, measuring_filters
from benchmark.studies.profile.pool_sample import PoolSample
from benchmark.studies.profile.statistics import Group, Histogram, by_cluster, histograms, summarise
from filters.clip import ClipFeatures
from filters.ocr.features import TextRecognition
from filters.ocr.spotter import TextSpotter

SCHEMA_VERSION = 1
FOLDER = "profile"  # within the results


@dataclass(frozen=True)
class Tools:
    """What a pool is profiled with: the OCR engine with its settings, and the CLIP (``model``, ``pretrained``)."""

    spotter: TextSpotter
    ocr: Mapping[str, Any]
    clip: Mapping[str, Any]

    @property
    def recognition(self) -> TextRecognition:
        """What was read in each image."""
        return TextRecognition(self.spotter)

    @property
    def embeddings(self) -> ClipFeatures:
        """The embeddings that are clustered."""
        return ClipFeatures(**self.clip)


@dataclass(frozen=True)
class Cluster:
    """Similar images, and the sample among them that CLIP scores highest."""

    number: int
    group: Group
    example: Example


@dataclass(frozen=True)
class Profile:
    """What text in images is and does in one pool.

    Of a random sample, `sample` says how many were asked for, `drawn_from` how many usable samples its shards hold
    and `unusable`, by reason, what else they hold; of a whole pool they are None and empty. `drops` counts by reason
    what could not be measured of the sample, or of the pool. Intervals are those of a random sample, also of the
    whole pool: of the source that it was drawn from.
    """

    pool: str
    url: str
    shards: int
    sample: int | None
    drawn_from: int | None
    unusable: dict[str, int]
    drops: dict[str, int]
    ocr: dict[str, Any]
    ocr_key: str
    clip: dict[str, Any]
    clip_key: str
    overall: Group
    clusters: list[Cluster]
    histograms: dict[str, Histogram]
    run_id: str
    seed: int
    worker_seconds: float
    git_commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    finished: str = ""
    schema_version: int = SCHEMA_VERSION


def profile_pool(pool: Pool, tools: Tools, engine: Engine, *, clusters: int, seed: int) -> Profile:
    """Profile a pool, or a `PoolSample` of one.

    Args:
        pool: what is profiled.
        tools: what it is measured with.
        engine: runs the measurements.
        clusters: of images, at most.
        seed: of the clusters and of the bootstrap.

    Raises:
        UserError: when no sample can be measured.
    """
    measured, drops, seconds = measure(
        pool, measuring_filters(tools.spotter, tools.clip), tools.spotter.legible, engine
    )
    assigned = cluster_images(pool, tools.embeddings, measured.uids, clusters, seed)
    examples = top_examples(pool, tools.recognition, measured, assigned)
    drawn = pool if isinstance(pool, PoolSample) else None
    return Profile(
        pool=pool.name,
        url=pool.url,
        shards=len(pool.shards(tools.embeddings.sources)),
        sample=drawn.asked if drawn else None,
        drawn_from=drawn.drawn_from if drawn else None,
        unusable=dict(sorted(drawn.unusable.items())) if drawn else {},
        drops=dict(sorted(drops.items())),
        ocr=dict(tools.ocr),
        ocr_key=tools.recognition.key(),
        clip=dict(tools.clip),
        clip_key=tools.embeddings.key(),
        overall=summarise(measured, seed),
        clusters=[Cluster(n, group, examples[n]) for n, group in by_cluster(measured, assigned, seed)],
        histograms=histograms(measured),
        run_id=_run_id(pool, tools, clusters, seed),
        seed=seed,
        worker_seconds=round(seconds, 3),
        **provenance(),
    )


def _run_id(pool: Pool, tools: Tools, clusters: int, seed: int) -> str:
    """Return a readable name and a hash of everything that the numbers depend on."""
    shards = [f"{shard.name}-{shard.fingerprint}" for shard in pool.shards(tools.embeddings.sources)]
    identity = [pool.key, shards, tools.recognition.key(), tools.embeddings.key(), clusters, seed]
    return f"{pool.name}-{hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:8]}"


def write_profile(results: Path, profile: Profile) -> Path:
    """Write ``results/profile/<run_id>.json``, whole or not at all, and return its path."""
    return write_record(results / FOLDER, profile)


def read_profiles(results: Path) -> list[Profile]:
    """Read all profiles, in the order of their names; files of another schema are left out."""
    found = []
    for data in read_records(results / FOLDER, SCHEMA_VERSION, "histograms"):
        data["overall"] = _group(data["overall"])
        data["clusters"] = [
            Cluster(c["number"], _group(c["group"]), Example(**c["example"])) for c in data["clusters"]
        ]
        data["histograms"] = {name: Histogram(**h) for name, h in data["histograms"].items()}
        found.append(Profile(**data))
    return found


def _group(data: dict[str, Any]) -> Group:
    means = {name: Estimate(**estimate) for name, estimate in data["means"].items()}
    shares = {name: Estimate(**data[name]) for name in ("text", "parrot")}
    return Group(data["images"], data["with_text"], data["parrots"], means=means, **shares)
