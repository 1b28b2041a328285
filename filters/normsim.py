"""NormSim (Wang et al. 2024): the norm of an image's similarities to all images of a target."""

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.base import Scores
from filters.clip import ClipFeatures
from filters.embeddings.pool_embeddings import (
    ByUid,
    Floats,
    Targeted,
    check_width,
    gather,
    outer_sum,
    quadratic,
    read_target,
)

TARGETS = 65536  # that a batch is compared with at a time


class NormSim(Targeted):
    """The p-norm of T x, for the image embedding x and a target's image embeddings T.

    Of p = 2 the square is m times `Vas`. Of p = infinity it is the greatest cosine: the signs stay, so that the
    opposite of a target's image is not similar to it, which makes no difference where cosines are positive. Without a
    target (the paper's NormSim-2-D) the pool is its own, and what is least similar to what is left of it is removed,
    step by step: the score is the share of the pool that is removed before. Then its image embeddings are held in
    half precision.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: its weights.
        norm: p, 2 or infinity.
        target: a ``.npy`` of image embeddings of that model, (m, d); null for the pool's own, where p is 2.
        steps: in which a pool without a target is taken apart, equally many samples in each.
    """

    needs = frozenset()

    def __init__(
        self, model: str, pretrained: str | None, norm: float, target: str | None, steps: int
    ) -> None:
        self.norm = float(norm)
        self.target = target
        self.steps = steps
        self.features = (ClipFeatures(model, pretrained),)
        if self.norm not in {2.0, math.inf}:
            raise UserError(f"filter.norm={norm} is no norm of normsim; use 2 or inf")
        if steps < 1:
            raise UserError(f"filter.steps={steps} takes nothing apart; use 1 at least")
        if self.norm == math.inf and target is None:
            raise UserError(
                "filter.norm=inf wants a target: every image is most similar to itself; give filter.target"
            )
        self._target: torch.Tensor | None = None
        self._moment: npt.NDArray[np.float64] | None = None
        self._shares: ByUid | None = None

    def setup(self, device: torch.device) -> None:
        """Read the target; `UserError` if it cannot be used."""
        if self.target is None:
            return
        target = read_target(self.target)
        if self.norm == math.inf:
            self._target = torch.from_numpy(target).to(device)
        else:
            self._moment = outer_sum(target)

    def fit(self, batches: Iterable[Batch]) -> None:
        """Take the pool apart."""
        uids, features = gather(batches, ("image",))
        self._shares = ByUid(uids, removed_before(features["image"], self.steps))

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,)."""
        if self._shares is not None:
            return self._shares(batch.uids)
        images = batch.features["image"]
        if self._target is not None:
            check_width(self._target.shape[1], images)
            return greatest_cosine(images, self._target)
        assert self._moment is not None
        check_width(len(self._moment), images)
        return np.sqrt(np.maximum(quadratic(images, self._moment), 0))  # |T x|^2 = x^T (T^T T) x


@torch.no_grad()
def greatest_cosine(images: npt.NDArray[np.float32], target: torch.Tensor) -> Scores:
    """Return the greatest cosine of each unit vector of (n, d) with one of (m, d); (n,)."""
    rows = torch.from_numpy(images).to(target.device)
    greatest = torch.full((len(rows),), -torch.inf, device=target.device)
    for part in target.split(TARGETS):
        greatest = torch.maximum(greatest, (rows @ part.T).amax(1))
    return np.asarray(greatest.cpu().numpy())


def removed_before(embeddings: Floats, steps: int) -> Scores:
    """Return which share of the rows of (n, d) goes before each row, (n,), when the least similar go first.

    Every step removes those with the least x^T S x, S the second moment of the rows that are left, and then knows
    a new S. Of equal rows the last goes first.
    """
    count = len(embeddings)
    removed = np.empty(count, np.float32)
    left = np.arange(count)
    total = outer_sum(embeddings)
    for goal in np.linspace(count, 0, min(steps, max(count, 1)) + 1).astype(int)[1:]:
        order = np.lexsort((-left, quadratic(embeddings, total)))
        leaving, staying = np.split(order, [len(left) - goal])
        removed[left[leaving]] = (count - len(left) + np.arange(len(leaving))) / count
        total -= outer_sum(embeddings[leaving])
        staying.sort()
        left, embeddings = left[staying], embeddings[staying]
    return removed
