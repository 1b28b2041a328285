"""Corpus statistics are equal on a GPU and a CPU, but for rounding."""

from pathlib import Path

import numpy as np
import pytest
import torch

from filters.embeddings.clusters import ImageClusters
from filters.embeddings.removal import Removal, exact_outer_sum
from tests.extras import needs_extra

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def topics(count: int, width: int, number: int) -> np.ndarray:
    """Unit vectors in half precision about some topics."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(number, width))[rng.integers(0, number, count)]
    vectors = 0.5 + vectors + 0.1 * rng.normal(size=(count, width))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float16)


def test_pairs_are_removed_in_the_same_order(tmp_path: Path) -> None:
    points = topics(20_000, 64, 30)
    shares = []
    for device in ("cpu", "cuda"):
        work = Removal(points, exact_outer_sum(points), 50, tmp_path / device)
        work.setup(torch.device(device))
        shares.append(work(0))
    assert np.array_equal(shares[0], shares[1])


@needs_extra("clusters")
def test_a_gpu_finds_the_clusters_of_a_cpu(tmp_path: Path) -> None:
    import faiss

    if not faiss.get_num_gpus():
        pytest.skip("this build of faiss has no GPU: install faiss-gpu-cu12 in place of faiss-cpu")
    points = topics(5_000, 32, 8)
    cpu, gpu = (
        ImageClusters(tmp_path / name, 8, iterations=20)
        .fit(points, 0 if name == "gpu" else None)
        .assign(points)
        for name in ("cpu", "gpu")
    )
    # Numbers of clusters may differ: they are compared as partitions.
    assert len(np.unique(np.stack([cpu, gpu]), axis=1).T) == len(np.unique(cpu)) == len(np.unique(gpu))
