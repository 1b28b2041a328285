"""negCLIPLoss, later called s-CLIPLoss (Wang et al. 2024): CLIPScore minus a normalisation term over batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import resolve_device
from benchmark.core.errors import UserError
from benchmark.core.mapped_files import MappedArray, write_array
from benchmark.core.ranges import PositiveInt
from filters.base import Scores
from filters.clip import ClipFeatures, cosines
from filters.embeddings.corpus import ByUid, Corpus, CorpusFilter

if TYPE_CHECKING:
    import torch

# Side of the blocks of similarities that are summed at a time: on a CPU they fit into its caches.
TILE = {"cpu": 512, "cuda": 8192}
MIN_TEMPERATURE = 0.002  # below it exp(1 / temperature) overflows
LIGHT_COSINES = 1 << 27  # so many take less time than starting a worker process


class NegClipLoss(CorpusFilter):
    """Minus the CLIP loss of a pair in random batches, times temperature.

    For image x, caption y and cosine s: s(x, y) - t/2 [log sum_j exp(s(x, y_j)/t) + log sum_j exp(s(x_j, y)/t)], the
    sums over the batch including the pair itself, averaged over `partitions` random partitions of the pool. Formula
    and constants are those of the released code, which draws batches from one shard and ends with a smaller one; here
    batches are drawn from the whole pool and have equal size, because the loss is lower in a smaller batch.

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

    def fit_corpus(self, corpus: Corpus) -> None:
        """Compute the normalisation term of every pair in the pool."""
        device = resolve_device(self._device)

        def fill(means: npt.NDArray[np.float32]) -> None:
            shape = (self.partitions, len(corpus.uids))
            orders = write_array(corpus.scratch / "orders.npy", shape, np.int64, self._draw)
            batches = _LossBatches(corpus, orders, self.loss_batch, self.temperature, device)
            total = np.zeros(len(corpus.uids))
            for piece, values in enumerate(corpus.map("negcliploss", batches, batches.count)):
                total[batches.rows(piece)] += values.values
            means[:] = total / self.partitions

        self._normalisers = corpus.by_uid("normalisers", np.float32, fill)

    def _draw(self, orders: npt.NDArray[np.int64]) -> None:
        """Put a random order of the n pairs into each row of (partitions, n)."""
        rng = np.random.default_rng(self.seed)
        for order in orders:
            order[:] = rng.permutation(len(order))

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), at most 0."""
        assert self._normalisers is not None
        return cosines(batch.features["image"], batch.features["text"]) - self._normalisers(batch.uids)


class _LossBatches:
    """The batches of all partitions, numbered from 0.

    Args:
        corpus: the pool.
        orders: the order of its n pairs in each partition, which is cut into batches; (partitions, n).
        loss_batch: maximum number of pairs per batch.
        temperature: see `normalisers`.
        device: the one that the user named; a worker has one of its own, of the GPUs.
    """

    def __init__(
        self, corpus: Corpus, orders: MappedArray, loss_batch: int, temperature: float, device: torch.device
    ) -> None:
        partitions, pairs = orders.values.shape
        self.per_partition = max(1, -(-pairs // loss_batch))
        self.count = partitions * self.per_partition
        self.light = partitions * pairs * min(pairs, loss_batch) < LIGHT_COSINES
        self._images, self._texts = (corpus.embeddings(name) for name in ("image", "text"))
        self._orders = orders
        self._temperature = temperature
        self._device = device

    def setup(self, device: torch.device) -> None:
        """Compute on the worker's own GPU where the user named none by its number."""
        if self._device.index is None and self._device.type == device.type:
            self._device = device

    def rows(self, piece: int) -> npt.NDArray[np.int64]:
        """Return the rows of the pairs in one batch, (n,)."""
        partition, batch = divmod(piece, self.per_partition)
        return np.asarray(np.array_split(self._orders.values[partition], self.per_partition)[batch])

    def __call__(self, piece: int, /) -> npt.NDArray[np.float64]:
        """Return the normalisers of one batch, (n,)."""
        import torch

        rows = self.rows(piece)
        images, texts = (torch.from_numpy(of[rows]).to(self._device) for of in (self._images, self._texts))
        return normalisers(images, texts, self._temperature)


def normalisers(images: torch.Tensor, texts: torch.Tensor, temperature: float) -> npt.NDArray[np.float64]:
    """Return t/2 [log sum_j exp(x_i.y_j/t) + log sum_j exp(x_j.y_i/t)] for each pair of one batch, (n,).

    Args:
        images: image embeddings x, unit vectors of shape (n, d).
        texts: caption embeddings y, unit vectors of shape (n, d).
        temperature: the temperature t.
    """
    import torch

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
