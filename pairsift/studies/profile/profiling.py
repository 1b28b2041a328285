"""The profile of one pool: text in its images, what captions repeat of it, and its effect on CLIP scores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from benchmark.core.hashes import hash_json
from benchmark.core.records import Schema
from benchmark.core.uids import UidArray, UidIndex, decode_uids, find_uids, unite_uids
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.pool.subset import captions_of
from benchmark.results.provenance import Provenance, provenance
from benchmark.scoring.shard_reader import PoolBatches, ShardReader
from filters.base import Features
from filters.clip import ClipFeatures
from filters.cotr import Cotr, co_embedded_words
from filters.embeddings.clusters import PER_CLUSTER, ImageClusters
from filters.ocr.features import TextRecognition, TextSpotter, legible_lines
from pairsift.studies.profile.measurements import Measurements, measure, measuring_filters
from pairsift.studies.profile.pool_sample import PoolSample
from pairsift.studies.profile.statistics import Group, Histogram, by_cluster, histograms, summarise

Integers = npt.NDArray[np.int64]
Settings = Mapping[str, Any]
MIN_IMAGES = 20  # per cluster on average; with fewer its estimates say little
LONGEST = 300  # characters; captions are cut there


@dataclass(frozen=True)
class Example:
    """A sample: its caption, cut at `LONGEST` characters, the words of it in the image's text, its CLIP score."""

    uid: str
    caption: str
    words: list[str]
    clip: float


@dataclass(frozen=True)
class Cluster:
    """A cluster of similar images, and the sample in it with the highest CLIP score."""

    number: int
    group: Group
    example: Example


@dataclass(frozen=True)
class Profile(Provenance):
    """Text in the images of one pool.

    Intervals treat the pool, or the sample of it, as a random sample of its source.
    """

    SCHEMA: ClassVar[Schema] = Schema("profile", 2, "profile", "python -m benchmark task=profile")

    pool: str
    url: str
    shards: int
    sample: int | None
    drawn_from: int | None  # usable samples in those shards; None for the whole pool
    unusable: dict[str, int]  # other samples in those shards, counted by reason; empty for the whole pool
    drops: dict[str, int]  # samples that could not be measured, counted by reason
    ocr: dict[str, Any]
    ocr_key: str  # cache key of the recognised text
    clip: dict[str, Any]
    clip_key: str  # cache key of the embeddings
    overall: Group
    clusters: list[Cluster]  # estimates per cluster, by their fraction of images with text, the largest first
    histograms: dict[str, Histogram]
    run_id: str  # a readable name and a hash of all that the numbers depend on
    seed: int
    worker_seconds: float  # seconds of scoring, summed over workers


def profile_pool(
    pool: Pool, spotter: TextSpotter, ocr: Settings, clip: Settings, engine: Engine, clusters: int, seed: int
) -> Profile:
    """Profile a pool, or a sample of it, in at most `clusters`. Raises `UserError` if no sample can be measured.

    `ocr` and `clip` are the settings of the engine `spotter` and of `Clip`.
    """
    recognition, embeddings = TextRecognition(spotter), ClipFeatures(**clip)
    measured, drops, seconds = measure(pool, measuring_filters(spotter, clip), spotter.legible, engine)
    assigned = cluster_images(pool, embeddings, measured.uids, clusters, seed)
    examples = top_examples(pool, spotter, measured, assigned)
    drawn = pool if isinstance(pool, PoolSample) else None
    shards = [f"{shard.name}-{shard.fingerprint}" for shard in pool.shards(embeddings.sources)]
    identity = [pool.key, shards, recognition.key(), embeddings.key(), clusters, seed]
    return Profile(
        pool=pool.name,
        url=pool.url,
        shards=len(shards),
        sample=drawn.requested if drawn else None,
        drawn_from=drawn.drawn_from if drawn else None,
        unusable=dict(sorted(drawn.unusable.items())) if drawn else {},
        drops=dict(sorted(drops.items())),
        ocr=dict(ocr),
        ocr_key=recognition.key(),
        clip=dict(clip),
        clip_key=embeddings.key(),
        overall=summarise(measured, seed),
        clusters=[Cluster(n, group, examples[n]) for n, group in by_cluster(measured, assigned, seed)],
        histograms=histograms(measured),
        run_id=f"{pool.name}-{hash_json(identity, 8)}",
        seed=seed,
        worker_seconds=round(seconds, 3),
        **provenance(),
    )


def cluster_images(pool: Pool, features: Features, uids: UidArray, clusters: int, seed: int) -> Integers:
    """Return the clusters of n images, shape (n,), numbered from 0.

    There are at most `clusters`; fewer if they would have fewer than 20 images on average. `uids` are sorted, and
    each has an embedding.
    """
    clusters = max(1, min(clusters, len(uids) // MIN_IMAGES))
    if clusters == 1:
        return np.zeros(len(uids), np.int64)
    embedded, assigned = [], []
    with TemporaryDirectory() as folder:
        model = ImageClusters(Path(folder), clusters, seed=seed)
        model.fit(_sample(pool, features, clusters * PER_CLUSTER, np.random.default_rng(seed)))
        for shard_uids, images in _embeddings(pool, features):
            embedded.append(shard_uids)
            assigned.append(model.assign(images))
    return np.concatenate(assigned)[find_uids(np.concatenate(embedded), uids)]


def _sample(pool: Pool, features: Features, count: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """Return embeddings of about `count` images, or of all, equally many per shard, shape (m, d)."""
    most = -(-count // len(pool.shards(features.sources)))
    parts = []
    for _, images in _embeddings(pool, features):
        parts.append(images if len(images) <= most else images[rng.choice(len(images), most, replace=False)])
    return np.concatenate(parts)


def _embeddings(pool: Pool, features: Features) -> Iterator[tuple[UidArray, npt.NDArray[np.float32]]]:
    reader = ShardReader(pool, "cpu")
    for shard in pool.shards(features.sources):
        table = reader.table(shard, features)
        if len(table.uids):
            yield table.uids, table.half("image").astype(np.float32)


def top_examples(
    pool: Pool, spotter: TextSpotter, measured: Measurements, clusters: Integers
) -> dict[int, Example]:
    """Return an example per cluster; `clusters` has the cluster of each measured sample, shape (n,)."""
    order = np.argsort(-measured.clip, kind="stable")
    numbers, first = np.unique(clusters[order], return_index=True)
    best, uids = order[first], measured.uids[order[first]]
    read, examples = text_in_images(pool, uids, spotter), {}
    for number, row, uid, text in zip(numbers, best, decode_uids(uids), captions_of(pool, uids), strict=True):
        caption = text or ""
        words = sorted(co_embedded_words(caption, read[uid]))
        examples[int(number)] = Example(uid, caption[:LONGEST], words, round(float(measured.clip[row]), 6))
    return examples


def text_in_images(pool: Pool, uids: UidArray, spotter: TextSpotter | None) -> dict[str, list[str]]:
    """Return the legible lines of text in each image by uid; nothing without a spotter."""
    read = dict[str, list[str]]()
    if spotter is None:
        return read
    for batch in PoolBatches(pool, Cotr(spotter), UidIndex(unite_uids([uids]))):
        words = zip(batch.features["words"], legible_lines(batch, spotter), strict=True)
        lines = [[of[number] for number in legible] for of, legible in words]
        read |= dict(zip(decode_uids(batch.uids), lines, strict=True))
    return read
