"""Groups of similar images: k-means of CLIP embeddings, learned from some of a pool, then given to all of it."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.uids import UidArray, find_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.shard_reader import ShardReader
from filters.clip import ClipFeatures
from filters.embeddings.clusters import PER_CLUSTER, ImageClusters

Integers = npt.NDArray[np.int64]
FEWEST = 20  # images a cluster, on the average: of fewer there is nothing to say


def cluster_images(pool: Pool, features: ClipFeatures, uids: UidArray, clusters: int, seed: int) -> Integers:
    """Return the clusters of n images, shape (n,), numbered from 0.

    Args:
        pool: whose embeddings are in the cache already.
        features: the embeddings.
        uids: sorted, each of them with an embedding.
        clusters: at most so many; fewer of few images.
        seed: of the images that are learned from, and of k-means.
    """
    clusters = max(1, min(clusters, len(uids) // FEWEST))
    if clusters == 1:
        return np.zeros(len(uids), np.int64)
    model = ImageClusters(clusters, seed=seed)
    model.fit(_some(pool, features, clusters * PER_CLUSTER, np.random.default_rng(seed)))
    embedded, assigned = [], []
    for shard_uids, images in _embeddings(pool, features):
        embedded.append(shard_uids)
        assigned.append(model.assign(images))
    return np.concatenate(assigned)[find_uids(np.concatenate(embedded), uids)]


def _some(
    pool: Pool, features: ClipFeatures, count: int, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    """Return embeddings of about `count` images, or all, as many of every shard, shape (m, d)."""
    most = -(-count // len(pool.shards(features.sources)))
    parts = []
    for _, images in _embeddings(pool, features):
        parts.append(images if len(images) <= most else images[rng.choice(len(images), most, replace=False)])
    return np.concatenate(parts)


def _embeddings(pool: Pool, features: ClipFeatures) -> Iterator[tuple[UidArray, npt.NDArray[np.float32]]]:
    reader = ShardReader(pool, torch.device("cpu"))
    for shard in pool.shards(features.sources):
        table = reader.table(shard, features)
        if len(table.uids):
            yield table.uids, table.columns["image"]
