"""Near-duplicate images within clusters (Lin et al. 2023, section 8; SemDeDup, Abbas et al. 2023)."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.extras import require
from benchmark.core.ranges import PositiveInt
from benchmark.core.ties import hash_uids
from filters.base import Filter, Scores
from filters.clip import ClipFeatures, cosines
from filters.composite import Cascade
from filters.embeddings.clusters import ImageClusters
from filters.embeddings.pool_embeddings import CHUNK, ByUid, gather
from filters.random import Random

BLOCK = 4096  # rows of a cluster that are compared at a time
MAX_DISTANCE = 2.0  # of cosines


class NearDuplicates(Filter):
    """Cosine distance to the nearest preferred image in the same cluster.

    An image is preferred to another when its CLIP score is higher, or equal with a higher `hash_uids`: one image of
    every group of near-duplicates is far from all images preferred to it. Keep 1 - similarity and more; as in
    SemDeDup, removed images still remove others. Holds the pool's embeddings in half precision.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        clusters: number of image clusters; only images of the same cluster are compared.
        seed: random seed of k-means and of the order of equal CLIP scores.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """

    needs = frozenset()

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        clusters: PositiveInt,
        seed: int = 0,
        precision: str = "fp32",
    ) -> None:
        require("clusters")
        self.clusters = clusters
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._distances: ByUid | None = None

    def fit(self, batches: Iterable[Batch]) -> None:
        """Cluster the pool's images and compare them within clusters."""
        uids, features = gather(batches, ("image", "text"))
        distances = np.full(len(uids), MAX_DISTANCE, np.float32)
        if len(uids):
            images = features["image"]
            preferred = np.lexsort((~hash_uids(uids, self.seed), -clip_scores(images, features["text"])))
            clusters = ImageClusters(self.clusters, seed=self.seed, iterations=20, restarts=1).fit(images)
            labels = clusters.assign(images)[preferred]
            # Rows grouped by cluster, most preferred first.
            rows = preferred[np.argsort(labels, kind="stable")]
            starts = np.flatnonzero(np.diff(np.sort(labels), prepend=-1))
            for members in np.split(rows, starts[1:]):
                distances[members] = nearest_before(images[members].astype(np.float32))
        self._distances = ByUid(uids, distances)

    def score(self, batch: Batch) -> Scores:
        """Return distances of shape (n,), from 0 to 2; 2 for the most preferred image of a cluster."""
        assert self._distances is not None, "fit comes before score"
        return self._distances(batch.uids)


def clip_scores(images: npt.NDArray[np.float16], texts: npt.NDArray[np.float16]) -> Scores:
    """Return the cosines of n pairs of unit vectors (n, d) in half precision, (n,)."""
    parts = [slice(start, start + CHUNK) for start in range(0, len(images), CHUNK)]
    return np.concatenate([cosines(images[p].astype(np.float32), texts[p].astype(np.float32)) for p in parts])


def nearest_before(embeddings: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the cosine distance of each unit vector of (n, d) to the nearest earlier one, (n,); 2 for the first."""
    max_similarity = np.full(len(embeddings), 1 - MAX_DISTANCE, np.float32)
    for start in range(0, len(embeddings), BLOCK):
        rows = slice(start, start + BLOCK)
        block = embeddings[rows]
        for other in range(0, start + 1, BLOCK):
            similarity = block @ embeddings[other : other + BLOCK].T
            if other == start:
                similarity[np.triu_indices(len(block))] = 1 - MAX_DISTANCE
            max_similarity[rows] = np.maximum(max_similarity[rows], similarity.max(axis=1))
    return np.maximum(1 - max_similarity, 0)


def distinct(
    model: str,
    pretrained: str | None,
    clusters: PositiveInt,
    duplicate_similarity: float,
    seed: int = 0,
    precision: str = "fp32",
) -> Cascade:
    """Return SemDeDup as a filter: one image per group of near-duplicates; of more than k that pass, a random k.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        clusters: number of image clusters; only images of the same cluster are compared.
        duplicate_similarity: cosine from which two images are near-duplicates.
        seed: random seed of k-means and of the random k.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """
    distances = NearDuplicates(model, pretrained, clusters, seed, precision)
    return Cascade({"distinct": distances, "random": Random(seed)}, {"distinct": 1 - duplicate_similarity})
