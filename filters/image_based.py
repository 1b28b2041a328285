"""Image-based filtering (DataComp, Gadre et al. 2023): keep the clusters nearest to a target's images."""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.extras import require
from benchmark.core.mapped_files import save_array
from benchmark.core.ranges import PositiveInt
from benchmark.core.uids import UID_DTYPE, UidArray
from filters.base import Scores
from filters.clip import ClipFeatures
from filters.embeddings.clusters import AssignChunks, ImageClusters, fit_by_worker
from filters.embeddings.corpus import ByUid, Corpus, Floats, PieceWork, Subset, chunks
from filters.embeddings.pool_embeddings import Targeted, check_width, read_target
from filters.english import language_detector, language_revision

MINIMUM_WORDS, MINIMUM_CHARACTERS = 2, 6
# The words that the release counts, fastText's: only ASCII white space separates them, and a newline is one itself.
FASTTEXT_WORD = re.compile(r"[^ \n\r\t\v\f\0]+|\n")


class ImageBased(Targeted):
    """1 if a sample's cluster is the nearest cluster of at least one target image, else NaN.

    As in the released baseline, only samples with an English caption of more than one word and more than five
    characters are clustered and can be kept. Clusters come from k-means on all their image embeddings; an image
    belongs to the centroid with the largest inner product. To rank the samples that pass, put another filter after
    this one in a `Cascade`. K-means has a file of the image embeddings in single precision meanwhile.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        target: path of a ``.npy`` of image embeddings of that model, (m, d); ImageNet's in DataComp.
        clusters: number of clusters of the pool's images.
        seed: random seed of k-means.
    """

    needs = frozenset({"text"})
    corpus_dependent = True
    target: str

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        target: str,
        clusters: PositiveInt,
        seed: int = 0,
        precision: str = "fp32",
    ) -> None:
        self.target = target
        require("clusters")
        require("language")
        self.clusters = clusters
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._kept: ByUid | None = None

    def identity(self) -> dict[str, Any]:
        """Add the version of the language detection library."""
        return super().identity() | {"language": language_revision()}

    def fit_corpus(self, corpus: Corpus) -> None:
        """Cluster the pool and mark the target's clusters. Raises `UserError` when the target cannot be used."""
        target = read_target(self.target)
        if corpus.outputs:
            check_width(target.shape[1], corpus.embeddings("image"))
        self._kept = corpus.by_uid("kept", np.float32, partial(self._mark, corpus, target))

    def _mark(self, corpus: Corpus, target: Floats, kept: npt.NDArray[np.float32]) -> None:
        """Put 1 for each pair of the corpus in a cluster of the target into `kept` (n,), NaN for the others."""
        usable = np.zeros(len(kept), bool)
        for uids in corpus.map("captions", _UsableCaptions(corpus.shards), len(corpus.shards)):
            rows_of_shard = corpus.uids.find(uids.values)
            usable[rows_of_shard[rows_of_shard >= 0]] = True
        kept[:] = np.nan
        if not usable.any():
            return
        rows = save_array(corpus.scratch / "usable.npy", np.flatnonzero(usable))
        images = Subset(corpus.embeddings("image"), rows)
        # As in DataComp's script: 20 iterations over all images, and no PCA.
        clusters = ImageClusters(
            corpus.scratch / "clusters",
            self.clusters,
            None,
            self.seed,
            iterations=20,
            restarts=1,
            sample=False,
            inner_product=True,
        )
        fit_by_worker(clusters, images, corpus)
        of_target = clusters.assign(target)
        pieces = corpus.map("clusters", AssignChunks(images, clusters), len(list(chunks(images))))
        for part, labels in zip(chunks(images), pieces, strict=True):
            kept[rows.values[part][np.isin(labels.values, of_target)]] = 1

    def score(self, batch: Batch) -> Scores:
        """Return 1 or NaN, shape (n,)."""
        assert self._kept is not None, "fit comes before score"
        return self._kept(batch.uids)


class _UsableCaptions(PieceWork):
    """The uids of the pairs of each shard whose captions are English and long enough."""

    def __init__(self, shards: Sequence[Iterable[Batch]]) -> None:
        self._shards = shards

    def setup(self, device: Device) -> None:
        """Make the language detector."""
        self._language = language_detector()

    def __call__(self, piece: int, /) -> UidArray:
        """Return the uids of one shard, (n,)."""
        found = [np.empty(0, UID_DTYPE)]
        for batch in self._shards[piece]:
            usable = [_is_long_enough(text) and self._language(text) == "en" for text in batch.texts]
            found.append(batch.uids[np.flatnonzero(usable)])
        return np.concatenate(found)


def _is_long_enough(text: str) -> bool:
    return len(FASTTEXT_WORD.findall(text)) >= MINIMUM_WORDS and len(text) >= MINIMUM_CHARACTERS
