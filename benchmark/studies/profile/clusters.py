"""Clusters of similar images: k-means on CLIP embeddings of a sample of the pool, and an example of each."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UidArray, UidIndex, decode_uid, find_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.feature_cache import FeatureTable
from benchmark.scoring.shard_reader import ShardReader
from benchmark.studies.profile.measurements import Measurements
from filters.clip import ClipFeatures
from filters.cotr import co_embedded_words
from filters.embeddings.clusters import PER_CLUSTER, ImageClusters
from filters.ocr.features import TextRecognition, TextSpotter

Integers = npt.NDArray[np.int64]
MIN_IMAGES = 20  # per cluster on average; with fewer its estimates say little


def cluster_images(pool: Pool, features: ClipFeatures, uids: UidArray, clusters: int, seed: int) -> Integers:
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


def _sample(
    pool: Pool, features: ClipFeatures, count: int, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Return embeddings of about `count` images, or of all, equally many per shard, shape (m, d)."""
    most = -(-count // len(pool.shards(features.sources)))
    parts = []
    for _, images in _embeddings(pool, features):
        parts.append(images if len(images) <= most else images[rng.choice(len(images), most, replace=False)])
    return np.concatenate(parts)


def _embeddings(pool: Pool, features: ClipFeatures) -> Iterator[tuple[UidArray, npt.NDArray[np.float32]]]:

    reader = ShardReader(pool, "cpu")
    for shard in pool.shards(features.sources):
        table = reader.table(shard, features)
        if len(table.uids):
            yield table.uids, table.half("image").astype(np.float32)


LONGEST = 300  # characters; captions are cut there
TEXT = frozenset({"text"})
BATCH = 4096


@dataclass(frozen=True)
class Example:
    """A sample: its caption, cut at `LONGEST` characters, the words of it in the image's text, its CLIP score."""

    uid: str
    caption: str
    words: list[str]
    clip: float


def top_examples(
    pool: Pool, recognition: TextRecognition, measured: Measurements, clusters: Integers
) -> dict[int, Example]:
    """Return an example per cluster; `clusters` has the cluster of each measured sample, shape (n,)."""
    numbers = np.unique(clusters)
    members = [np.flatnonzero(clusters == number) for number in numbers]
    best = np.array([rows[np.argmax(measured.clip[rows])] for rows in members], np.int64)
    index = UidIndex(measured.uids[best])
    examples = {}

    reader = ShardReader(pool, "cpu")
    for shard in pool.shards(recognition.sources):
        table = reader.table(shard, recognition)
        for batch in pool.batches(shard, TEXT, BATCH, Counter()):
            wanted, rows = index.find(batch.uids), table.index.find(batch.uids)
            for i in np.flatnonzero((wanted >= 0) & (rows >= 0)):
                caption, uid = batch.texts[i], decode_uid(batch.uids[i])
                words = sorted(co_embedded_words(caption, _legible(table, rows[i], recognition.spotter)))
                score = round(float(measured.clip[best[wanted[i]]]), 6)
                examples[int(numbers[wanted[i]])] = Example(uid, caption[:LONGEST], words, score)
    return examples


def _legible(table: FeatureTable, row: int, spotter: TextSpotter) -> list[str]:
    """Return the legible lines of text in the image of one row."""
    columns = table.take(np.array([row]))
    words, sure = columns["words"][0], columns["confidences"][0]
    return [line for line, confidence in zip(words, sure, strict=True) if confidence >= spotter.legible]
