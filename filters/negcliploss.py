"""negCLIPLoss, later called s-CLIPLoss (Wang et al. 2024): CLIPScore less what other pairings of a batch get."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.batch import Batch
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from filters.base import Filter, Scores
from filters.clip import ClipFeatures, cosines
from filters.embeddings.pool_embeddings import ByUid, gather

# Rows and columns of similarities that are summed at a time: on a CPU they stay in its caches.
TILE = {"cpu": 512, "cuda": 8192}
COLDEST = 0.002  # exp(1 / temperature) still is a number


class NegClipLoss(Filter):
    """Minus the loss that a CLIP model would have on a pair, among the pairs of random batches, times temperature.

    For image x, caption y and cosine s: s(x, y) - t/2 [log sum_j exp(s(x, y_j)/t) + log sum_j exp(s(x_j, y)/t)], the
    sums over the batch, the pair itself included; the mean over `partitions` random partitions of the pool. The
    formula and its constants are the released code's, which draws its batches from one shard and leaves a short one
    at the end; here they are drawn from the whole pool and are of equal size, so that none has an easier loss.
    Embeddings of the whole pool are held in half precision.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: its weights.
        loss_batch: pairs of a batch, at most.
        partitions: of the pool into batches.
        temperature: the teacher's own; 0.01 for OpenAI's models.
        seed: of the partitions.
        device: where the sums are computed, see `resolve_device`.
    """

    needs = frozenset()

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        loss_batch: int,
        partitions: int,
        temperature: float,
        seed: int = 0,
        device: str = "auto",
    ) -> None:
        if min(loss_batch, partitions) < 1:
            raise UserError("filter.loss_batch and filter.partitions of negcliploss have to be at least 1")
        if temperature < COLDEST:
            raise UserError(
                f"filter.temperature={temperature} is too low; use {COLDEST} at least, CLIP's is 0.01"
            )
        self.loss_batch = loss_batch
        self.partitions = partitions
        self.temperature = temperature
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained),)
        self._device = device  # private: the scores are the same on all of them
        self._normalisers: ByUid | None = None

    def fit(self, batches: Iterable[Batch]) -> None:
        """Compute the normalisation term of every pair of the pool."""
        uids, features = gather(batches, ("image", "text"))
        images, texts = (torch.from_numpy(features[name]) for name in ("image", "text"))
        device = resolve_device(self._device)
        total = np.zeros(len(uids))
        rng = np.random.default_rng(self.seed)
        for _ in range(self.partitions):
            for rows in np.array_split(rng.permutation(len(uids)), max(1, -(-len(uids) // self.loss_batch))):
                total[rows] += normalisers(images[rows].to(device), texts[rows].to(device), self.temperature)
        self._normalisers = ByUid(uids, (total / self.partitions).astype(np.float32))

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), at most 0."""
        assert self._normalisers is not None
        return cosines(batch.features["image"], batch.features["text"]) - self._normalisers(batch.uids)


@torch.no_grad()
def normalisers(images: torch.Tensor, texts: torch.Tensor, temperature: float) -> npt.NDArray[np.float64]:
    """Return t/2 [log sum_j exp(x_i.y_j/t) + log sum_j exp(x_j.y_i/t)] for each pair of one batch, (n,).

    Args:
        images: unit vectors x of shape (n, d).
        texts: their captions' y, likewise.
        temperature: t.
    """
    tile = TILE[images.device.type]
    by_image, by_text = (
        torch.zeros(len(images), dtype=torch.float64, device=images.device) for _ in range(2)
    )
    for i in range(0, len(images), tile):
        rows = images[i : i + tile].float()
        for j in range(0, len(texts), tile):
            # In float32 most terms are denormal, and ten times slower; and unlike pairs beside like ones are lost.
            terms = (rows @ texts[j : j + tile].float().T).double().mul_(1 / temperature).exp_()
            by_image[i : i + tile] += terms.sum(1)
            by_text[j : j + tile] += terms.sum(0)
    return np.asarray((by_image.log() + by_text.log()).cpu().numpy() * temperature / 2)
