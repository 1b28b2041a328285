"""Image-based filtering (DataComp, Gadre et al. 2023): keep the clusters nearest to a target's images."""

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
    """1 where a sample's cluster is the nearest cluster of at least one target image, else NaN.

    Clusters come from k-means on the pool's image embeddings; nearest is by Euclidean distance. To rank the samples
    that pass, put another filter after this one in a `Cascade`. Holds the pool's image embeddings in half precision.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        target: path of a ``.npy`` of image embeddings of that model, (m, d); ImageNet's in DataComp.
        clusters: number of clusters of the pool's images.
        seed: random seed of k-means.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """

    needs = frozenset()

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        target: str,
        clusters: int,
        seed: int = 0,
        precision: str = "fp32",
    ) -> None:
        self.target = target
        require("clusters")
        self.clusters = clusters
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._kept = ByUid(np.empty(0, UID_DTYPE), np.empty(0, np.float32))

    def identity(self) -> dict[str, Any]:
        """Identify the target by its content."""
        return super().identity() | {"target": target_digest(self.target)}

    def fit(self, batches: Iterable[Batch]) -> None:
        """Cluster the pool and mark the target's clusters. Raises `UserError` when the target cannot be used."""
        target = read_target(self.target)
        uids, features = gather(batches, ("image",))
        images = features["image"]
        if not len(images):
            return
        check_width(target.shape[1], images)
        # As in DataComp's script: 20 iterations, and no PCA (as many components as dimensions).
        clusters = ImageClusters(self.clusters, images.shape[1], self.seed, iterations=20, restarts=1).fit(
            images
        )
        near_target = np.isin(clusters.assign(images), clusters.assign(target))
        self._kept = ByUid(uids, np.where(near_target, np.float32(1), np.float32(np.nan)))

    def score(self, batch: Batch) -> Scores:
        """Return 1 or NaN, shape (n,)."""
        return self._kept(batch.uids)
