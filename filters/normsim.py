"""NormSim (Wang et al. 2024): the norm of an image's similarities to all images of a target."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.ranges import PositiveInt, checked
from filters.base import Scores
from filters.clip import ClipFeatures
from filters.embeddings.corpus import ByUid, Corpus
from filters.embeddings.pool_embeddings import (
    Targeted,
    check_width,
    corpus_outer_sum,
    outer_sum,
    quadratic,
    read_target,
)

if TYPE_CHECKING:
    import torch

TARGET_CHUNK = 65536  # rows of the target that a batch is compared with at a time


@checked
class NormSim(Targeted):
    """The p-norm of T x, for the image embedding x and a target's image embeddings T.

    For p = 2 its square is m times `Vas`. For p = infinity it is the largest cosine, not the largest absolute cosine:
    the opposite of a target's image is not similar to it. Without a target (the paper's NormSim-2-D) the pool is its
    own target: in each step the samples least similar to the remaining pool are removed, and a sample's score is the
    fraction of the pool removed before it.

    Args:
        model, pretrained, precision: the CLIP, see `ClipReader`.
        norm: p, 2 or infinity.
        target: path of a ``.npy`` of image embeddings of that model, (m, d); None for the pool's own (norm 2 only).
        steps: number of removal steps without a target; each removes the same number of samples.
    """

    needs = frozenset()

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        norm: float,
        target: str | None,
        steps: PositiveInt,
        precision: str = "fp32",
    ) -> None:
        self.norm = float(norm)
        self.target = target
        self.steps = steps
        self.features = (ClipFeatures(model, pretrained, precision),)
        if self.norm not in {2.0, math.inf}:
            raise UserError(f"filter.norm={norm} must be 2 or inf")
        if self.norm == math.inf and target is None:
            raise UserError("filter.norm=inf needs filter.target=FILE: every image is most similar to itself")
        self._target: torch.Tensor | None = None
        self._moment: npt.NDArray[np.float64] | None = None
        self._shares: ByUid | None = None

    def setup(self, device: Device) -> None:
        """Read the target. Raises `UserError` when it cannot be used."""
        if self.target is None:
            return
        target = read_target(self.target)
        if self.norm == math.inf:
            import torch

            self._target = torch.from_numpy(target).to(device)
        else:
            self._moment = outer_sum(target)

    def fit_corpus(self, corpus: Corpus) -> None:
        """Compute for every sample the fraction of the pool that is removed before it."""
        from filters.embeddings.removal import Removal, exact_outer_sum

        def fill(shares: npt.NDArray[np.float64]) -> None:
            if not len(shares):
                return
            total = corpus_outer_sum(corpus, "image", exact_outer_sum)
            removal = Removal(corpus.embeddings("image"), total, self.steps, corpus.scratch)
            (removed,) = corpus.map("removal", removal, 1)
            np.copyto(shares, removed.values)

        # float32 cannot distinguish 2^24 fractions.
        self._shares = corpus.by_uid("shares", np.float64, fill)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,)."""
        if self._shares is not None:
            return self._shares(batch.uids)
        images = batch.features["image"]
        if self._target is not None:
            check_width(self._target.shape[1], images)
            return max_cosine(images, self._target)
        assert self._moment is not None
        check_width(len(self._moment), images)
        return np.sqrt(np.maximum(quadratic(images, self._moment), 0))  # |T x|^2 = x^T (T^T T) x


def max_cosine(images: npt.NDArray[np.float32], target: torch.Tensor) -> Scores:
    """Return the highest cosine of each unit vector of (n, d) with the unit vectors of (m, d), shape (n,)."""
    rows = target.new_tensor(images)
    highest = rows.new_full((len(rows),), -np.inf)
    for part in target.split(TARGET_CHUNK):
        highest = highest.maximum((rows @ part.T).amax(1))
    return np.asarray(highest.cpu().numpy())
