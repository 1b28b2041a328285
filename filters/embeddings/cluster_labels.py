"""Which cluster of similar images, or captions, a sample belongs to: what the cluster selectors draw from."""

from collections.abc import Iterable

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.extras import require
from filters.base import Features, Filter, Scores
from filters.embeddings.clusters import ImageClusters
from filters.embeddings.pool_embeddings import gather

OUTPUTS = ("image", "text")


class ClusterLabels(Filter):
    """The number of a sample's cluster, from 0: kept and shared like scores, but no rank.

    DS-CLIP clusters features of DINO ViT-S/8 into 10,000, by k-means (supplement, section B); clusters of captions
    are its ablation (table 2a). Embeddings of the whole pool are held in half precision while clusters are learned.

    Args:
        features: embeddings.
        of: which of their outputs is clustered, ``image`` or ``text``.
        clusters: how many; fewer when there are fewer samples.
        seed: of the k-means.
    """

    needs = frozenset()
    batch_size = 65536

    def __init__(self, features: Features, of: str, clusters: int, seed: int) -> None:
        if of not in OUTPUTS:
            raise UserError(f"selector.labels.of={of} cannot be clustered; use {' or '.join(OUTPUTS)}")
        if not 1 <= clusters < 1 << 24:  # labels are kept as float32
            raise UserError(f"selector.labels.clusters={clusters}: give a number from 1 to {(1 << 24) - 1:,}")
        require("clusters")
        self.features = (features,)
        self.of = of
        self.clusters = clusters
        self.seed = seed
        self._clusters: ImageClusters | None = None

    def fit(self, batches: Iterable[Batch]) -> None:
        """Find the clusters of the pool. Raises `UserError` for an embedding without such an output."""
        first = next(iter(batches), None)
        if first is not None and self.of not in first.features:
            raise UserError(
                f"selector.labels.of={self.of}: this embedding has {' and '.join(first.features)} only;"
                " embedding=clip has image and text"
            )
        _, features = gather(batches, (self.of,))
        embeddings = features[self.of]
        if len(embeddings):
            made = ImageClusters(self.clusters, components=None, seed=self.seed, iterations=20, restarts=1)
            self._clusters = made.fit(embeddings)

    def score(self, batch: Batch) -> Scores:
        """Return the numbers of clusters, (n,), as float32."""
        assert self._clusters is not None, "fit comes before score"
        return self._clusters.assign(batch.features[self.of]).astype(np.float32)
