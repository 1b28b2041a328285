"""Image-based filtering (DataComp, Gadre et al. 2023): keep the clusters nearest to a target's images."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.extras import require
from benchmark.core.requirements import Requirement
from benchmark.core.uids import UID_DTYPE, UidIndex
from filters.base import Filter, Scores
from filters.clip import ClipFeatures
from filters.embeddings.clusters import ImageClusters
from filters.embeddings.pool_embeddings import (
    check_width,
    gather,
    read_target,
    target_digest,
    target_requirement,
)
from filters.text.language import english_detector, language_revision

MINIMUM_WORDS, MINIMUM_CHARACTERS = 2, 6
# The words that the release counts, fastText's: only ASCII white space separates them, and a newline is one itself.
FASTTEXT_WORD = re.compile(r"[^ \n\r\t\v\f\0]+|\n")


class ImageBased(Filter):
    """1 where a sample's cluster is the nearest cluster of at least one target image, else NaN.

    As in the released baseline, only samples with an English caption of more than one word and more than five
    characters are clustered and can be kept. Clusters come from k-means on all their image embeddings; an image
    belongs to the centroid with the largest inner product. To rank the samples that pass, put another filter after
    this one in a `Cascade`. Holds the image embeddings in half precision, and in single precision during k-means.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        target: path of a ``.npy`` of image embeddings of that model, (m, d); ImageNet's in DataComp.
        clusters: number of clusters of the pool's images.
        seed: random seed of k-means.
        precision: ``fp32`` or ``bf16``, see `load_clip`.
    """

    needs = frozenset({"text"})

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        target: str,
        clusters: int,
        seed: int = 0,
        precision: str = "fp32",
    ) -> None:
        self.target = target
        require("clusters")
        require("language")
        self.clusters = clusters
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._kept = UidIndex(np.empty(0, UID_DTYPE))

    def identity(self) -> dict[str, Any]:
        """Identify the target by its content; add the version of the language detection library."""
        return super().identity() | {"target": target_digest(self.target), "language": language_revision()}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the target, and what the embeddings need."""
        yield target_requirement(self.target)
        yield from super().requirements()

    def fit(self, batches: Iterable[Batch]) -> None:
        """Cluster the pool and mark the target's clusters. Raises `UserError` when the target cannot be used."""
        target = read_target(self.target)
        uids, features = gather(_with_usable_captions(batches), ("image",))
        images = features["image"]
        if len(images):
            check_width(target.shape[1], images)
            # As in DataComp's script: 20 iterations over all images, and no PCA.
            clusters = ImageClusters(
                self.clusters, None, self.seed, iterations=20, restarts=1, sample=False, inner_product=True
            ).fit(images)
            uids = uids[np.isin(clusters.assign(images), clusters.assign(target))]
        self._kept = UidIndex(uids)

    def score(self, batch: Batch) -> Scores:
        """Return 1 or NaN, shape (n,)."""
        return np.where(self._kept.find(batch.uids) >= 0, np.float32(1), np.float32(np.nan))


def _with_usable_captions(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the batches without captions that are not English or too short."""
    is_english = english_detector()
    for batch in batches:
        kept = [_is_long_enough(text) and is_english(text) for text in batch.texts]
        yield batch.take(np.flatnonzero(kept))


def _is_long_enough(text: str) -> bool:
    return len(FASTTEXT_WORD.findall(text)) >= MINIMUM_WORDS and len(text) >= MINIMUM_CHARACTERS
