"""The profile of one pool: text in its images, what captions repeat of it, and its effect on CLIP scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from benchmark.core.hashes import hash_json
from benchmark.core.records import Schema
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.results.provenance import provenance
from benchmark.studies.profile.clusters import Example, cluster_images, top_examples
from benchmark.studies.profile.measurements import measure, measuring_filters
from benchmark.studies.profile.pool_sample import PoolSample
from benchmark.studies.profile.statistics import Group, Histogram, by_cluster, histograms, summarise
from filters.clip import ClipFeatures
from filters.ocr.features import TextRecognition, TextSpotter


@dataclass(frozen=True)
class Tools:
    """The models of a profile: the OCR engine with its settings, and the settings of the CLIP, as for `Clip`."""

    spotter: TextSpotter
    ocr: Mapping[str, Any]
    clip: Mapping[str, Any]

    @property
    def recognition(self) -> TextRecognition:
        """The lines of text read in each image."""
        return TextRecognition(self.spotter)

    @property
    def embeddings(self) -> ClipFeatures:
        """The embeddings that are clustered."""
        return ClipFeatures(**self.clip)


@dataclass(frozen=True)
class Cluster:
    """A cluster of similar images, and the sample in it with the highest CLIP score."""

    number: int
    group: Group
    example: Example


@dataclass(frozen=True)
class Profile:
    """Text in the images of one pool.

    Intervals treat the pool, or the sample of it, as a random sample of its source. The last four fields are those of
    `provenance`.

    Args:
        drawn_from: usable samples in those shards; None for the whole pool.
        unusable: other samples in those shards, counted by reason; empty for the whole pool.
        drops: samples that could not be measured, counted by reason.
        ocr_key: cache key of the recognised text.
        clip_key: cache key of the embeddings.
        clusters: estimates per cluster, by their share of images with text, the largest first.
        run_id: a readable name and a hash of all that the numbers depend on.
        worker_seconds: seconds of scoring, summed over workers.
    """

    SCHEMA: ClassVar[Schema] = Schema("profile", 2, "profile", "python -m benchmark task=profile")

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


def profile_pool(pool: Pool, tools: Tools, engine: Engine, *, clusters: int, seed: int) -> Profile:
    """Profile a pool, or a `PoolSample` of one, with at most `clusters` image clusters.

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
        sample=drawn.requested if drawn else None,
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
    """Return a readable name and a hash of all that the numbers depend on."""
    shards = [f"{shard.name}-{shard.fingerprint}" for shard in pool.shards(tools.embeddings.sources)]
    identity = [pool.key, shards, tools.recognition.key(), tools.embeddings.key(), clusters, seed]
    return f"{pool.name}-{hash_json(identity, 8)}"
