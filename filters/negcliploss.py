"""negCLIPLoss, later called s-CLIPLoss (Wang et al. 2024): CLIPScore minus a normalisation term over batches."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.batch import Batch
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.ranges import PositiveInt
from filters.base import Filter, Scores
from filters.clip import ClipFeatures, cosines
from filters.embeddings.pool_embeddings import ByUid, gather

# Side of the blocks of similarities that are summed at a time: on a CPU they fit into its caches.
TILE = {"cpu": 512, "cuda": 8192}
MIN_TEMPERATURE = 0.002  # below it exp(1 / temperature) overflows


class NegClipLoss(Filter):
    """Minus the CLIP loss of a pair in random batches, times temperature.

    For image x, caption y and cosine s: s(x, y) - t/2 [log sum_j exp(s(x, y_j)/t) + log sum_j exp(s(x_j, y)/t)], the
    sums over the batch including the pair itself, averaged over `partitions` random partitions of the pool. Formula
    and constants are those of the released code, which draws batches from one shard and ends with a smaller one; here
    batches are drawn from the whole pool and have equal size, because the loss is lower in a smaller batch. Holds the
    pool's embeddings in half precision.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        loss_batch: maximum number of pairs per batch.
        partitions: number of random partitions of the pool into batches.
        temperature: temperature of the CLIP model; 0.01 for OpenAI's models.
        seed: random seed of the partitions.
        device: device that computes the sums, see `resolve_device`.
        precision: ``fp32`` or ``bf16`` of the embeddings, see `load_clip`; the sums are always in float64.
    """

    needs = frozenset()

    def __init__(
        self,
        model: str,
        pretrained: str | None,
        loss_batch: PositiveInt,
        partitions: PositiveInt,
        temperature: float,
        seed: int = 0,
        device: str = "auto",
        precision: str = "fp32",
    ) -> None:
        if min(loss_batch, partitions) < 1:
            raise UserError("filter.loss_batch and filter.partitions must be at least 1")
        if temperature < MIN_TEMPERATURE:
            raise UserError(
                f"filter.temperature={temperature} must be at least {MIN_TEMPERATURE}; CLIP's is 0.01"
            )
        self.loss_batch = loss_batch
        self.partitions = partitions
        self.temperature = temperature
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._device = device  # private, so not in the cache key: scores do not depend on it
        self._normalisers: ByUid | None = None

    def fit(self, batches: Iterable[Batch]) -> None:
        """Compute the normalisation term of every pair in the pool."""
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
        images: image embeddings x, unit vectors of shape (n, d).
        texts: caption embeddings y, unit vectors of shape (n, d).
        temperature: the temperature t.
    """
    tile = TILE[images.device.type]
    by_image, by_text = (
        torch.zeros(len(images), dtype=torch.float64, device=images.device) for _ in range(2)
    )
    for i in range(0, len(images), tile):
        rows = images[i : i + tile].float()
        for j in range(0, len(texts), tile):
            # In float32 most terms are denormal, which is ten times slower, and small terms vanish beside large ones.
            terms = (rows @ texts[j : j + tile].float().T).double().mul_(1 / temperature).exp_()
            by_image[i : i + tile] += terms.sum(1)
            by_text[j : j + tile] += terms.sum(0)
    return np.asarray((by_image.log() + by_text.log()).cpu().numpy() * temperature / 2)
