"""Clusters of similar images: k-means on CLIP embeddings, fitted on a sample of the pool."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UidArray, find_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.shard_reader import ShardReader
from filters.clip import ClipFeatures
from filters.embeddings.clusters import PER_CLUSTER, ImageClusters

Integers = npt.NDArray[np.int64]
MIN_IMAGES = 20  # per cluster on average; with fewer its estimates say little


def cluster_images(pool: Pool, features: ClipFeatures, uids: UidArray, clusters: int, seed: int) -> Integers:
    """Return the clusters of n images, shape (n,), numbered from 0.

    Args:
        pool: its embeddings are in the cache already.
        features: the embeddings.
        uids: sorted, each with an embedding.
        clusters: largest number of clusters; there are fewer where they would have fewer than 20 images on average.
        seed: random seed of the sample and of k-means.
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
