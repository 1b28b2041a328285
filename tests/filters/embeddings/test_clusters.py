from pathlib import Path

import numpy as np

from filters.embeddings.clusters import PER_CLUSTER, ImageClusters
from tests.extras import needs_extra

pytestmark = needs_extra("clusters")


def blobs(count: int, dimensions: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    centres = 10 * rng.normal(size=(4, dimensions))
    labels = rng.integers(0, 4, count)
    return (centres[labels] + rng.normal(size=(count, dimensions))).astype(np.float32), labels


def same_partition(one: np.ndarray, other: np.ndarray) -> bool:
    pairs = set(zip(one.tolist(), other.tolist(), strict=True))
    return len(pairs) == len(set(one.tolist())) == len(set(other.tolist()))


def test_blobs_are_clustered_from_a_sample_and_after_pca(tmp_path: Path) -> None:
    for count, dimensions, components in ((300, 5, 256), (4 * PER_CLUSTER + 500, 20, 8)):
        points, labels = blobs(count, dimensions)
        found = ImageClusters(tmp_path / str(count), 4, components).fit(points)
        assert same_partition(found.assign(points), labels)
        if components < dimensions:
            assert found._project(points).shape == (count, components)


def test_fewer_points_than_clusters(tmp_path: Path) -> None:
    points = np.eye(3, dtype=np.float32)
    clusters = ImageClusters(tmp_path, 10).fit(points)
    assert len(set(clusters.assign(points).tolist())) == 3
    assert clusters.assign(points[:0]).shape == (0,)


def test_components_and_clusters_are_scikit_learns(tmp_path: Path) -> None:
    from sklearn.decomposition import PCA
    from sklearn.metrics import pairwise_distances_argmin

    rng = np.random.default_rng(0)
    points = (5 + rng.normal(size=(400, 12)) * 8 / 2 ** np.arange(12.0)).astype(np.float32)  # not around 0
    found, pca = ImageClusters(tmp_path / "a", 6, 4).fit(points), PCA(4)
    expected = pca.fit_transform(points)
    signs = np.sign((found._project(points) * expected).sum(axis=0))
    np.testing.assert_allclose(found._project(points) * signs, expected, atol=1e-3)
    labels = pairwise_distances_argmin(expected * signs, found.centroids)
    np.testing.assert_array_equal(found.assign(points), labels)
    half = points.astype(np.float16)
    halved = pairwise_distances_argmin(pca.transform(half.astype(np.float32)) * signs, found.centroids)
    np.testing.assert_array_equal(found.assign(half), halved)
    means = [(expected * signs)[labels == cluster].mean(axis=0) for cluster in range(6)]
    np.testing.assert_allclose(found.centroids, means, atol=1e-3)
    directions = ImageClusters(tmp_path / "b", 6, None, inner_product=True).fit(points)
    np.testing.assert_array_equal(directions.assign(points), (points @ directions.centroids.T).argmax(axis=1))
