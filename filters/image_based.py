"""Image-based filtering (DataComp, Gadre et al. 2023): keep the clusters that a target's images fall into."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.extras import require
from benchmark.core.uids import UID_DTYPE
from filters.base import Filter, Scores
from filters.clip import ClipFeatures
from filters.embeddings.clusters import ImageClusters
from filters.embeddings.pool_embeddings import ByUid, check_width, gather, read_target, target_digest


class ImageBased(Filter):
    """1 where a sample's cluster is the nearest of some target image, else never chosen.

    k-means of the pool's image embeddings; nearest by Euclidean distance. Which of more than k are kept is for a
    filter after it in a `Cascade` to say. Image embeddings of the whole pool are held in half precision.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: its weights.
        target: a ``.npy`` of image embeddings of that model, (m, d): ImageNet's in DataComp.
        clusters: of the pool's images.
        seed: of the k-means.
    """

    needs = frozenset()

    def __init__(self, model: str, pretrained: str | None, target: str, clusters: int, seed: int = 0) -> None:
        self.target = target
        require("clusters")
        self.clusters = clusters
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained),)
        self._kept = ByUid(np.empty(0, UID_DTYPE), np.empty(0, np.float32))

    def identity(self) -> dict[str, Any]:
        """Name the target by its content."""
        return super().identity() | {"target": target_digest(self.target)}

    def fit(self, batches: Iterable[Batch]) -> None:
        """Cluster the pool and find the target's clusters; `UserError` if the target cannot be used."""
        target = read_target(self.target)
        uids, features = gather(batches, ("image",))
        images = features["image"]
        if not len(images):
            return
        check_width(target.shape[1], images)
        # DataComp's script: 20 iterations; as many components as there are, so that embeddings stay as they are.
        clusters = ImageClusters(self.clusters, images.shape[1], self.seed, iterations=20, restarts=1).fit(
            images
        )
        wanted = np.isin(clusters.assign(images), clusters.assign(target))
        self._kept = ByUid(uids, np.where(wanted, np.float32(1), np.float32(np.nan)))

    def score(self, batch: Batch) -> Scores:
        """Return 1 or NaN, shape (n,)."""
        return self._kept(batch.uids)
