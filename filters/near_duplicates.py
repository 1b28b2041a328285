"""Near-duplicate images within clusters (Lin et al. 2023, section 8; SemDeDup, Abbas et al. 2023)."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.disk_buckets import Buckets
from benchmark.core.extras import require
from benchmark.core.mapped_files import LazyArray, MappedArray, MappedUids
from benchmark.core.ranges import PositiveInt
from benchmark.core.ties import hash_uids
from filters.base import Scores
from filters.clip import ClipFeatures, cosines
from filters.composite import Cascade
from filters.embeddings.clusters import AssignChunks, ImageClusters, fit_by_worker
from filters.embeddings.corpus import ByUid, Corpus, CorpusFilter, PieceWork, Rows, Subset, chunks
from filters.random import Random

BLOCK = 4096  # rows of a cluster that are compared at a time
MAX_DISTANCE = 2.0  # of cosines
PIECE = 16384  # images of the clusters that a worker compares at a time


class NearDuplicates(CorpusFilter):
    """Cosine distance to the nearest preferred image in the same cluster.

    An image is preferred to another when its CLIP score is higher, or equal with a higher `hash_uids`: one image of
    every group of near-duplicates is far from all images preferred to it. Keep 1 - similarity and more; as in
    SemDeDup, removed images still remove others.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        clusters: number of image clusters; only images of the same cluster are compared.
        seed: random seed of k-means and of the order of equal CLIP scores.
        iterations: iterations per run of k-means.
        restarts: runs of k-means, of which the best is kept.
    """

    needs = frozenset()

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        clusters: PositiveInt,
        seed: int = 0,
        precision: str = "fp32",
        iterations: PositiveInt = 20,
        restarts: PositiveInt = 1,
    ) -> None:
        require("clusters")
        self.clusters = clusters
        self.seed = seed
        self.iterations = iterations
        self.restarts = restarts
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._distances: ByUid | None = None

    def fit_corpus(self, corpus: Corpus) -> None:
        """Cluster the pool's images and compare them within clusters."""
        self._distances = corpus.by_uid("distances", np.float32, partial(self._measure, corpus))

    def _measure(self, corpus: Corpus, distances: npt.NDArray[np.float32]) -> None:
        """Put the distance of each pair of the corpus into `distances` (n,)."""
        if not len(distances):
            return
        images = corpus.embeddings("image")
        clusters = ImageClusters(
            corpus.scratch / "clusters",
            self.clusters,
            seed=self.seed,
            iterations=self.iterations,
            restarts=self.restarts,
        )
        fit_by_worker(clusters, images, corpus)
        labels = corpus.map("clusters", AssignChunks(images, clusters), len(list(chunks(images))))
        members = ClusterMembers(corpus, labels)
        compare = _CompareClusters(members, corpus.uids, self.seed)
        for piece, values in enumerate(corpus.map("compare", compare, len(compare.pieces))):
            distances[compare.members(piece)["row"]] = values.values

    def score(self, batch: Batch) -> Scores:
        """Return distances of shape (n,), from 0 to 2; 2 for the most preferred image of a cluster."""
        assert self._distances is not None, "fit comes before score"
        return self._distances(batch.uids)


class ClusterMembers:
    """The images of a corpus grouped by cluster on the disk, so that a cluster is read in one piece.

    `array` has a record per image: its row in the corpus, its CLIP score, and its embedding. In each cluster rows
    ascend. `ends` (k,) are the ends of the clusters.

    Args:
        corpus: the pool.
        labels: the clusters of each of the `chunks` of its n pairs.
    """

    def __init__(self, corpus: Corpus, labels: Sequence[MappedArray]) -> None:
        self._images, self._texts = (corpus.embeddings(name) for name in ("image", "text"))
        self._labels = labels
        count = 1 + max(int(of_chunk.values.max()) for of_chunk in labels)
        self._sizes = sum(
            (np.bincount(of_chunk.values, minlength=count) for of_chunk in labels), np.zeros(count, np.int64)
        )
        self.ends = np.cumsum(self._sizes)
        width = self._images.shape[1]
        self.record = np.dtype([("row", np.int64), ("score", np.float32), ("image", np.float16, (width,))])
        self.array = LazyArray(corpus.scratch / "members.npy", (len(self._images),), self.record, self._group)

    def _group(self, array: npt.NDArray[np.void]) -> None:
        buckets = Buckets(self._sizes, array)
        for part, of_chunk in zip(chunks(self._images), self._labels, strict=True):
            images = self._images[part]
            records = np.empty(len(images), self.record)
            records["row"] = np.arange(part.start, part.stop)
            records["score"] = cosines(images.astype(np.float32), self._texts[part].astype(np.float32))
            records["image"] = images
            buckets.add(of_chunk.values, records)


class _CompareClusters(PieceWork):
    """Distances within clusters; a piece is some clusters, of about `PIECE` images together."""

    def __init__(self, members: ClusterMembers, uids: MappedUids, seed: int) -> None:
        # The ends of each piece's clusters.
        self.pieces = np.split(members.ends, np.flatnonzero(np.diff(members.ends // PIECE)) + 1)
        self._array = members.array
        self._uids = uids
        self._seed = seed

    def members(self, piece: int) -> npt.NDArray[np.void]:
        """Return the records of the images in one piece, (n,), mapped."""
        start = self.pieces[piece - 1][-1] if piece else 0
        return self._array[start : self.pieces[piece][-1]]

    def __call__(self, piece: int, /) -> npt.NDArray[np.float32]:
        """Return the distances of the images in one piece, (n,)."""
        members = self.members(piece)
        cuts = self.pieces[piece][:-1] - (self.pieces[piece][-1] - len(members))
        return np.concatenate([self._distances(cluster) for cluster in np.split(members, cuts)])

    def _distances(self, cluster: npt.NDArray[np.void]) -> npt.NDArray[np.float32]:
        """Return the distances of the images of one cluster, (n,)."""
        ties = hash_uids(self._uids[cluster["row"]], self._seed)
        preferred = np.lexsort((~ties, -cluster["score"]))
        distances = np.empty(len(cluster), np.float32)
        distances[preferred] = nearest_before(Subset(cluster["image"], preferred))
        return distances


def nearest_before(embeddings: Rows) -> npt.NDArray[np.float32]:
    """Return the cosine distance of each unit vector of (n, d) to the nearest earlier one, (n,); 2 for the first."""
    max_similarity = np.full(len(embeddings), 1 - MAX_DISTANCE, np.float32)
    for start in range(0, len(embeddings), BLOCK):
        rows = slice(start, start + BLOCK)
        block = embeddings[rows].astype(np.float32)
        for other in range(0, start + 1, BLOCK):
            similarity = block @ embeddings[other : other + BLOCK].astype(np.float32).T
            if other == start:
                similarity[np.triu_indices(len(block))] = 1 - MAX_DISTANCE
            max_similarity[rows] = np.maximum(max_similarity[rows], similarity.max(axis=1))
    return np.maximum(1 - max_similarity, 0)


def distinct(
    model: str,
    pretrained: str | None,
    clusters: PositiveInt,
    duplicate_similarity: float,
    seed: int = 0,
    precision: str = "fp32",
) -> Cascade:
    """Return SemDeDup as a filter: one image per group of near-duplicates; of more than k that pass, a random k.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        clusters: number of image clusters; only images of the same cluster are compared.
        duplicate_similarity: cosine from which two images are near-duplicates.
        seed: random seed of k-means and of the random k.
    """
    distances = NearDuplicates(model, pretrained, clusters, seed, precision)
    return Cascade({"distinct": distances, "random": Random(seed)}, {"distinct": 1 - duplicate_similarity})
