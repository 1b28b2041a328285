"""Clusters of images: PCA of their embeddings, then k-means (Lin et al. 2023, sections 4.1 and 11)."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.cached_files import intact, remove_cached
from benchmark.core.devices import Device
from benchmark.core.mapped_files import MappedArray, save_array, write_array
from filters.embeddings.corpus import CHUNK, Corpus, PieceWork, Rows, Subset, chunks

PER_CLUSTER = 256  # training embeddings per cluster, faiss' default


@dataclass
class ImageClusters:
    """k-means on principal components; `sample` and `inner_product` are given by name.

    An embedding belongs to the nearest centroid, or with `inner_product` to the one with the largest inner product.
    Centroids are learned by distance either way.
    """

    folder: Path  # of the centroids and components; clusters that it holds already are used again
    clusters: int  # maximum number of clusters; fewer embeddings give fewer
    # Dimensions after PCA; None, or at least as many as the embeddings have, skips PCA.
    components: int | None = 256
    seed: int = 0  # random seed of k-means
    iterations: int = 300  # per run of k-means (the paper's)
    restarts: int = 10  # runs of k-means, of which the best is kept (the paper's)
    _: KW_ONLY
    sample: bool = True  # learn from at most `PER_CLUSTER` embeddings per cluster, else from all
    inner_product: bool = False

    def __post_init__(self) -> None:
        self._centroids = MappedArray(self.folder / "centroids.npy")
        self._axes = MappedArray(self.folder / "axes.npy")  # rows: principal components; no file without PCA
        self._origin = MappedArray(self.folder / "origin.npy")  # the mean, in these components

    def fit(self, embeddings: Rows, gpu: int | None = None) -> "ImageClusters":
        """Cluster embeddings of shape (n, d), n at least 1. Holds one chunk; the points are in a file meanwhile.

        With the number of a GPU, k-means runs there and differs from that of a CPU by rounding. It needs a build of
        faiss for GPUs, which PyPI has as ``faiss-gpu-cu12``; the other build computes on the CPU.
        """
        if self._is_fitted():
            return self
        if self.sample and len(embeddings) > self.clusters * PER_CLUSTER:
            rows = np.random.default_rng(self.seed).choice(
                len(embeddings), self.clusters * PER_CLUSTER, replace=False
            )
            embeddings = Subset(embeddings, np.sort(rows))
        width = embeddings.shape[1]
        if self.components and min(width, len(embeddings)) > self.components:
            self._fit_components(embeddings, self.components)
            width = self.components

        def project(points: npt.NDArray[Any]) -> None:
            for part in chunks(embeddings):
                points[part] = self._project(embeddings[part].astype(np.float32))

        points = write_array(self.folder / "points.npy", (len(embeddings), width), np.float32, project)
        save_array(self._centroids.path, self._centroids_of(points.values, gpu))
        remove_cached(points.path)
        return self

    def _is_fitted(self) -> bool:
        """Return whether an earlier run has written all arrays; without the axes, points would not be projected."""
        written = [a.path for a in (self._centroids, self._axes, self._origin) if a.path.is_file()]
        if all(intact(path) for path in written):
            return self._centroids.path in written
        remove_cached(self._centroids.path)
        return False

    @property
    def centroids(self) -> npt.NDArray[np.float32]:
        """The centroids after PCA, (k, d)."""
        return self._centroids.values

    def assign(self, embeddings: Rows) -> npt.NDArray[np.int64]:
        """Return the cluster index of each row of `embeddings` (n, d), shape (n,)."""
        import faiss

        metric = faiss.METRIC_INNER_PRODUCT if self.inner_product else faiss.METRIC_L2
        parts = [np.empty(0, np.int64)]
        for part in chunks(embeddings):
            _, nearest = faiss.knn(self._project(embeddings[part]), self.centroids, 1, metric=metric)
            parts.append(nearest[:, 0])
        return np.concatenate(parts)

    def _fit_components(self, embeddings: Rows, components: int) -> None:
        """Learn the principal components chunk by chunk: `IncrementalPCA.fit` would copy all embeddings."""
        from sklearn import decomposition, utils

        pca = decomposition.IncrementalPCA(components, copy=False)
        for part in utils.gen_batches(len(embeddings), CHUNK, min_batch_size=components):
            pca.partial_fit(embeddings[part].astype(np.float32))
        origin = pca.mean_.reshape(1, -1) @ pca.components_.T
        save_array(self._axes.path, pca.components_)
        save_array(self._origin.path, origin)

    def _project(self, embeddings: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.float32]:
        if self._axes.path.is_file():
            if embeddings.dtype == np.float16:
                embeddings = embeddings.astype(np.float64)
            embeddings = embeddings @ self._axes.values.T
            embeddings -= self._origin.values
        return np.ascontiguousarray(embeddings, np.float32)

    def _centroids_of(self, points: npt.NDArray[np.float32], gpu: int | None) -> npt.NDArray[np.float32]:
        """Return the centroids of k-means on points of shape (n, d)."""
        import faiss

        means = faiss.Kmeans(
            points.shape[1],
            min(self.clusters, len(points)),
            niter=self.iterations,
            nredo=self.restarts,
            seed=self.seed,
            min_points_per_centroid=1,  # faiss would only print a warning
            max_points_per_centroid=len(points),  # faiss would sample again
        )
        if gpu is not None and faiss.get_num_gpus():
            resources = faiss.StandardGpuResources()  # its own option `gpu` takes all GPUs, or the first few
            means.index = faiss.index_cpu_to_gpu(resources, gpu, means.index)
        means.train(points)
        return np.asarray(means.centroids, np.float32)


def fit_by_worker(clusters: ImageClusters, embeddings: Rows, corpus: Corpus) -> ImageClusters:
    """Let a worker fit `clusters` to embeddings (n, d) of the corpus, on its GPU if it has one; return them."""
    corpus.map("k-means", _FitClusters(clusters, embeddings), 1)
    return clusters


class _FitClusters(PieceWork):
    """k-means, as one piece."""

    def __init__(self, clusters: ImageClusters, embeddings: Rows) -> None:
        self._clusters = clusters
        self._embeddings = embeddings

    def setup(self, device: Device) -> None:
        """Note the device."""
        self._gpu = (device.index or 0) if device.type == "cuda" else None

    def __call__(self, piece: int, /) -> npt.NDArray[np.float32]:
        """Return the centroids, (k, d)."""
        return self._clusters.fit(self._embeddings, self._gpu).centroids


class AssignChunks(PieceWork):
    """The clusters of each chunk of embeddings."""

    def __init__(self, embeddings: Rows, clusters: ImageClusters) -> None:
        self._embeddings = embeddings
        self._clusters = clusters

    def __call__(self, piece: int, /) -> npt.NDArray[np.int32]:
        """Return the cluster indices of one chunk, (n,)."""
        rows = self._embeddings[piece * CHUNK : (piece + 1) * CHUNK]
        return self._clusters.assign(rows).astype(np.int32)
