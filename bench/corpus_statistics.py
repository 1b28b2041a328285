"""Corpus statistics of drawn features, as work that `measurement` calls in separate processes."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch  # noqa: F401  imported by filters in `setup`; imports are not counted

from benchmark.core.mapped_files import LazyArray
from benchmark.core.uids import UID_DTYPE, first_of_each, sort_uids
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.scoring.corpus_fit import MappedCorpus
from benchmark.scoring.feature_cache import load_features, save_features
from filters.clip import ClipFeatures
from filters.embeddings.cluster_labels import ClusterLabels
from filters.embeddings.clusters import AssignChunks, ImageClusters
from filters.embeddings.corpus import CorpusFilter, Rows, chunks
from filters.near_duplicates import NearDuplicates
from filters.negcliploss import NegClipLoss
from filters.normsim import NormSim
from filters.vas import Vas

SHARD, CLUSTERS = 20_000, 400
# Few partitions, steps and clusters: this shows growth with the pool in a short time.
FILTERS: dict[str, Callable[[], CorpusFilter]] = {
    "vas": lambda: Vas("unused", None, None),
    "negcliploss": lambda: NegClipLoss("unused", None, 256, 1, 0.01),
    "near_duplicates": lambda: NearDuplicates("unused", None, CLUSTERS),
    "normsim": lambda: NormSim("unused", None, 2, None, steps=20),
    "clusters": lambda: ClusterLabels(ClipFeatures("unused"), "image", CLUSTERS, 0),
}


def write_features(folder: str, pairs: int, width: int = 64) -> None:
    """Write shards of unit vectors about 200 directions, as CLIP features are cached."""
    rng = np.random.default_rng(0)
    topics = rng.standard_normal((200, width), np.float32)
    for number, start in enumerate(range(0, pairs, SHARD)):
        shape = (min(SHARD, pairs - start), width)
        images = topics[rng.integers(0, 200, shape[0])] + rng.standard_normal(shape, np.float32)
        texts = images + rng.standard_normal(shape, np.float32)
        columns = {"image": images, "text": texts}
        unit = {name: of / np.linalg.norm(of, axis=1, keepdims=True) for name, of in columns.items()}
        uids = rng.integers(0, 2**64, (shape[0], 2), dtype=np.uint64).view(UID_DTYPE).ravel()
        save_features(Path(folder, f"{number:04d}.arrow"), uids, unit, {}, Seconds())


def write_wide_features(folder: str, pairs: int) -> None:
    """Write features of ViT-B/32's width."""
    write_features(folder, pairs, 512)


def rows(features: str) -> None:
    """Only the rows of the corpus, and every embedding read once in the order of the uids."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("image", "text"):
            _read(_embeddings(features, Path(folder), name))


def gather(features: str) -> None:
    """The plain way, with the pool in memory: parts, their concatenation, then a copy in the order of the uids."""
    uids, parts = [], {"image": [], "text": []}
    for path in _paths(features):
        table = load_features(path)
        uids.append(table.uids)
        for output, of_output in parts.items():
            of_output.append(table.half(output))
    joined = np.concatenate(uids)
    order = sort_uids(joined)
    order = order[first_of_each(joined[order])]
    arrays = {name: np.concatenate(of_name)[order] for name, of_name in parts.items()}
    for embeddings in arrays.values():
        _read(embeddings)


def _read(embeddings: Rows) -> None:
    for part in chunks(embeddings):
        embeddings[part].astype(np.float32)


def fit(features: str, name: str) -> None:
    """The rows and the fit of a filter."""
    with tempfile.TemporaryDirectory() as folder:
        FILTERS[name]().fit_corpus(_corpus(features, Path(folder)))


def components(features: str) -> None:
    """The first 32 principal components of all images, and a k-means of two iterations on all of them."""
    with tempfile.TemporaryDirectory() as folder:
        images = _embeddings(features, Path(folder), "image")
        ImageClusters(Path(folder, "clusters"), 20, 32, iterations=2, restarts=1, sample=False).fit(images)


def assign(features: str) -> Iterator[None]:
    """The cluster of every image, by existing centroids."""
    with tempfile.TemporaryDirectory() as folder:
        images = _embeddings(features, Path(folder), "image")
        clusters = ImageClusters(Path(folder, "clusters"), CLUSTERS, None, iterations=2, restarts=1)
        work = AssignChunks(images, clusters.fit(images))
        yield
        for piece, _ in enumerate(chunks(images)):
            work(piece)


def _paths(features: str) -> list[Path]:
    return sorted(Path(features).iterdir())


def _embeddings(features: str, folder: Path, name: str) -> LazyArray:
    return _corpus(features, folder).embeddings(name)


def _corpus(features: str, folder: Path) -> MappedCorpus:
    return MappedCorpus(_paths(features), folder, LocalEngine("cpu", 1))
