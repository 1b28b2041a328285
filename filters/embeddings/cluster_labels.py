"""Clusters of similar images or captions, which the cluster selectors draw from."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.ranges import Seed, checked
from filters.base import Features, Scores
from filters.embeddings.clusters import ImageClusters, fit_by_worker
from filters.embeddings.corpus import Corpus, CorpusFilter

# Labels are kept as float32.
MAX_CLUSTERS = (1 << 24) - 1
Clusters = Annotated[int, Field(gt=0, le=MAX_CLUSTERS, description=f"an integer from 1 to {MAX_CLUSTERS:,}")]


@checked
class ClusterLabels(CorpusFilter):
    """Index of a sample's cluster, from 0: cached and shared like scores, but a label, not a ranking.

    DS-CLIP clusters features of DINO ViT-S/8 into 10,000 (supplement, sections B and D); k-means is our reading.
    Clusters of captions are its ablation (table 2a).

    Args:
        features: the embeddings.
        of: the output that is clustered, ``image`` or ``text``.
        clusters: maximum number of clusters; a small pool has fewer.
        seed: random seed of k-means.
    """

    needs = frozenset()
    batch_size = 65536

    def __init__(
        self, features: Features, of: Literal["image", "text"], clusters: Clusters, seed: Seed
    ) -> None:
        require("clusters")
        self.features = (features,)
        self.of = of
        self.clusters = clusters
        self.seed = seed
        self._clusters: ImageClusters | None = None

    def fit_corpus(self, corpus: Corpus) -> None:
        """Cluster the pool. Raises `UserError` when the embedding lacks the output `of`."""
        if not corpus.outputs:
            return
        if self.of not in corpus.outputs:
            raise UserError(
                f"selector.labels.of={self.of}: the embedding gives only {' and '.join(corpus.outputs)};"
                " embedding=clip has image and text"
            )
        clusters = ImageClusters(
            corpus.folder / "clusters",
            self.clusters,
            components=None,
            seed=self.seed,
            iterations=20,
            restarts=1,
        )
        self._clusters = fit_by_worker(clusters, corpus.embeddings(self.of), corpus)

    def score(self, batch: Batch) -> Scores:
        """Return cluster indices of shape (n,), as float32."""
        assert self._clusters is not None, "fit comes before score"
        return self._clusters.assign(batch.features[self.of]).astype(np.float32)
