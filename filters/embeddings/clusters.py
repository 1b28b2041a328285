"""Clusters of images: PCA of their embeddings, then k-means (Lin et al. 2023, sections 4.1 and 11)."""

from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 65536  # rows that are projected and assigned at a time
PER_CLUSTER = 256  # training embeddings per cluster, faiss' default


class ImageClusters:
    """k-means on principal components.

    Args:
        clusters: maximum number of clusters; fewer embeddings give fewer.
        components: dimensions after PCA; None, or at least as many as the embeddings have, skips PCA.
        seed: random seed of k-means.
        iterations: iterations per run of k-means (the paper's 300).
        restarts: runs of k-means, of which the best is kept (the paper's 10).
        sample: whether to learn from at most `PER_CLUSTER` embeddings per cluster; all of them otherwise.
        inner_product: whether an embedding belongs to the centroid with the largest inner product; to the nearest one
            otherwise. Centroids are learned by distance either way.
    """

    def __init__(
        self,
        clusters: int,
        components: int | None = 256,
        seed: int = 0,
        iterations: int = 300,
        restarts: int = 10,
        *,
        sample: bool = True,
        inner_product: bool = False,
    ) -> None:
        self.clusters = clusters
        self.components = components
        self.seed = seed
        self.iterations = iterations
        self.restarts = restarts
        self.sample = sample
        self.inner_product = inner_product
        self._projection: Any = None
        self._means: npt.NDArray[np.float32] | None = None

    def fit(self, embeddings: npt.NDArray[np.floating[Any]]) -> "ImageClusters":
        """Cluster embeddings of shape (n, d), n at least 1."""
        import faiss
        from sklearn.decomposition import IncrementalPCA

        if self.sample and len(embeddings) > self.clusters * PER_CLUSTER:
            rows = np.random.default_rng(self.seed).choice(
                len(embeddings), self.clusters * PER_CLUSTER, replace=False
            )
            embeddings = embeddings[np.sort(rows)]
        points = embeddings.astype(np.float32)
        if self.components and min(points.shape[1], len(points)) > self.components:
            self._projection = IncrementalPCA(self.components, batch_size=CHUNK).fit(points)
        points = self._project(points)
        means = faiss.Kmeans(
            points.shape[1],
            min(self.clusters, len(points)),
            niter=self.iterations,
            nredo=self.restarts,
            seed=self.seed,
            min_points_per_centroid=1,  # faiss would only print a warning
            max_points_per_centroid=len(points),  # faiss would sample again
        )
        means.train(points)
        self._means = means.centroids  # an array, which can be sent to worker processes
        return self

    def assign(self, embeddings: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.int64]:
        """Return the cluster index of each row of `embeddings` (n, d), shape (n,)."""
        import faiss

        assert self._means is not None, "fit comes before assign"
        metric = faiss.METRIC_INNER_PRODUCT if self.inner_product else faiss.METRIC_L2
        parts = [np.empty(0, np.int64)]
        for start in range(0, len(embeddings), CHUNK):
            _, nearest = faiss.knn(
                self._project(embeddings[start : start + CHUNK]), self._means, 1, metric=metric
            )
            parts.append(nearest[:, 0])
        return np.concatenate(parts)

    def _project(self, embeddings: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
        if self._projection is not None:
            embeddings = self._projection.transform(embeddings)
        return np.ascontiguousarray(embeddings, np.float32)
