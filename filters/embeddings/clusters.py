"""Clusters of images: PCA of their embeddings, then k-means (Lin et al. 2023, sections 4.1 and 11)."""

from typing import Any

import numpy as np
import numpy.typing as npt

CHUNK = 65536  # rows that are projected and assigned at a time
PER_CLUSTER = 256  # embeddings that k-means sees of each cluster, as faiss has it


class ImageClusters:
    """k-means on principal components.

    Args:
        clusters: how many; fewer when there are fewer embeddings.
        components: of the PCA, left out if None, and where embeddings have no more dimensions than that.
        seed: of the k-means.
        iterations: of one k-means (the paper's 300).
        restarts: of which the best is kept (the paper's 10).
    """

    def __init__(
        self,
        clusters: int,
        components: int | None = 256,
        seed: int = 0,
        iterations: int = 300,
        restarts: int = 10,
    ) -> None:
        self.clusters = clusters
        self.components = components
        self.seed = seed
        self.iterations = iterations
        self.restarts = restarts
        self._projection: Any = None
        self._means: npt.NDArray[np.float32] | None = None

    def fit(self, embeddings: npt.NDArray[np.floating[Any]]) -> "ImageClusters":
        """Find the clusters of embeddings of shape (n, d), n at least 1, from a sample of `PER_CLUSTER` for each."""
        import faiss
        from sklearn.decomposition import IncrementalPCA

        if len(embeddings) > self.clusters * PER_CLUSTER:
            rows = np.random.default_rng(self.seed).choice(
                len(embeddings), self.clusters * PER_CLUSTER, replace=False
            )
            embeddings = embeddings[np.sort(rows)]
        sample = embeddings.astype(np.float32)
        if self.components and min(sample.shape[1], len(sample)) > self.components:
            self._projection = IncrementalPCA(self.components, batch_size=CHUNK).fit(sample)
        sample = self._project(sample)
        means = faiss.Kmeans(
            sample.shape[1],
            min(self.clusters, len(sample)),
            niter=self.iterations,
            nredo=self.restarts,
            seed=self.seed,
            min_points_per_centroid=1,  # faiss would only print a warning
            max_points_per_centroid=PER_CLUSTER,
        )
        means.train(sample)
        self._means = means.centroids  # an array: clusters travel to worker processes
        return self

    def assign(self, embeddings: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.int64]:
        """Return the cluster of each embedding, (n,), of shape (n, d)."""
        import faiss

        assert self._means is not None, "fit comes before assign"
        parts = [np.empty(0, np.int64)]
        for start in range(0, len(embeddings), CHUNK):
            _, nearest = faiss.knn(self._project(embeddings[start : start + CHUNK]), self._means, 1)
            parts.append(nearest[:, 0])
        return np.concatenate(parts)

    def _project(self, embeddings: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
        if self._projection is not None:
            embeddings = self._projection.transform(embeddings)
        return np.ascontiguousarray(embeddings, np.float32)
