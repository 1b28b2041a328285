"""Variance Alignment Score (Wang et al. 2024): alignment of an image with a target's variance."""

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.mapped_files import MappedArray, write_array
from filters.base import Scores
from filters.clip import ClipFeatures
from filters.embeddings.corpus import Corpus
from filters.embeddings.pool_embeddings import (
    Targeted,
    check_width,
    corpus_outer_sum,
    outer_sum,
    quadratic,
    read_target,
)


class Vas(Targeted):
    """x^T S x for the image embedding x and the second moment S of a target's image embeddings.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        target: path of a ``.npy`` of image embeddings of that model, (m, d); None for the pool's own.
    """

    needs = frozenset()

    def __init__(
        self, model: str, pretrained: str | None, target: str | None, precision: str = "fp32"
    ) -> None:
        self.target = target
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._moment: npt.NDArray[np.float64] | MappedArray | None = None

    def setup(self, device: Device) -> None:
        """Read the target. Raises `UserError` when it cannot be used."""
        if self.target is not None:
            target = read_target(self.target)
            self._moment = outer_sum(target) / len(target)

    def fit_corpus(self, corpus: Corpus) -> None:
        """Compute the second moment of the pool's images, in one pass."""
        width = corpus.embeddings("image").shape[1]

        def fill(moment: npt.NDArray[np.float64]) -> None:
            moment[:] = corpus_outer_sum(corpus, "image") / max(len(corpus.uids), 1)

        self._moment = write_array(corpus.folder / "moment.npy", (width, width), np.float64, fill)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), from 0 to 1."""
        assert self._moment is not None
        check_width(len(self._moment), batch.features["image"])
        return quadratic(batch.features["image"], np.asarray(self._moment))
