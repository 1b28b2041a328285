"""Near-duplicate images within clusters (Lin et al. 2023, section 8; SemDeDup, Abbas et al. 2023)."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from benchmark.batch import Batch
from filters.base import Filter, Scores
from filters.clip import ClipFeatures, cosines
from filters.clusters import ImageClusters

BLOCK = 4096  # rows of a cluster that are compared at a time
ALONE = 2.0  # the greatest cosine distance there is


class NearDuplicates(Filter):
    """Cosine distance to the nearest image of the same cluster that is preferred to this one.

    Preferred is the image with the higher CLIP score to its caption, then the lower uid: of every group of
    near-duplicates one is far from all that are preferred to it. Cut at 1 - similarity with `Threshold`; as in
    SemDeDup, what is removed still removes others. Embeddings of the whole pool are held in half precision.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: its weights.
        clusters: of images; only images of one cluster are compared.
        seed: of the clusters.
    """

    needs = frozenset()

    def __init__(self, model: str, pretrained: str | None, clusters: int, seed: int = 0) -> None:
        self.clusters = clusters
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained),)
        self._distances: dict[str, float] = {}

    def fit(self, batches: Iterable[Batch]) -> None:
        """Cluster the pool's images and compare them within their clusters."""
        uids: list[str] = []
        images, scores = [], []
        for batch in batches:
            uids += batch.uids
            images.append(batch.features["image"].astype(np.float16))
            scores.append(cosines(batch.features["image"], batch.features["text"]))
        if not uids:
            return
        embeddings = np.concatenate(images)
        preferred = np.lexsort((np.array(uids), -np.concatenate(scores)))
        labels = ImageClusters(self.clusters, seed=self.seed, iterations=20, restarts=1).fit(embeddings)
        cluster = labels.assign(embeddings)[preferred]
        # Rows by cluster, the preferred ones first within each.
        rows = preferred[np.argsort(cluster, kind="stable")]
        starts = np.flatnonzero(np.diff(np.sort(cluster), prepend=-1))
        for members in np.split(rows, starts[1:]):
            distances = nearest_before(embeddings[members].astype(np.float32))
            self._distances |= {uids[row]: float(d) for row, d in zip(members, distances, strict=True)}

    def score(self, batch: Batch) -> Scores:
        """Return distances of shape (n,), from 0 to 2; 2 where nothing is preferred."""
        return np.array([self._distances[uid] for uid in batch.uids], np.float32)


def nearest_before(embeddings: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return the cosine distance of each unit vector of (n, d) to the nearest one before it; (n,), the first 2."""
    likest = np.full(len(embeddings), 1 - ALONE, np.float32)
    for start in range(0, len(embeddings), BLOCK):
        block = embeddings[start : start + BLOCK]
        for other in range(0, start + 1, BLOCK):
            alike = block @ embeddings[other : other + BLOCK].T
            if other == start:
                alike[np.triu_indices(len(block))] = 1 - ALONE
            likest[start : start + BLOCK] = np.maximum(likest[start : start + BLOCK], alike.max(axis=1))
    return np.maximum(1 - likest, 0)
