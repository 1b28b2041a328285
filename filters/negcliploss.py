"""negCLIPLoss, later called s-CLIPLoss (Wang et al. 2024): CLIPScore minus a normalisation term over batches."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.disk_buckets import put_in_order
from benchmark.core.errors import UserError
from benchmark.core.mapped_files import LazyArray, new_mapped, write_array
from benchmark.core.ranges import PositiveInt, checked
from filters.base import Scores
from filters.clip import ClipFeatures, cosines
from filters.embeddings.corpus import ByUid, Corpus, CorpusFilter, PieceWork, Rows, chunks

if TYPE_CHECKING:
    import torch

# Side of the blocks of similarities that are summed at a time: on a CPU they fit into its caches.
TILE = {"cpu": 512, "cuda": 8192}
MIN_TEMPERATURE = 0.002  # below it exp(1 / temperature) overflows


@checked
class NegClipLoss(CorpusFilter):
    """Minus the CLIP loss of a pair in random batches, times temperature.

    For image x, caption y and cosine s: s(x, y) - t/2 [log sum_j exp(s(x, y_j)/t) + log sum_j exp(s(x_j, y)/t)], the
    sums over the batch including the pair itself, averaged over `partitions` random partitions of the pool. Formula
    and constants are the released code's. It draws batches from one shard, the last of them smaller; here batches are
    drawn from the whole pool and have equal size, because the loss is lower in a smaller batch.

    Args:
        model: an open_clip model, see `load_clip`.
        pretrained: open_clip's tag of the weights.
        loss_batch: maximum number of pairs per batch.
        partitions: number of random partitions of the pool into batches.
        temperature: temperature of the CLIP model; 0.01 for OpenAI's models.
        seed: random seed of the partitions.
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
        precision: str = "fp32",
    ) -> None:
        if temperature < MIN_TEMPERATURE:
            raise UserError(
                f"filter.temperature={temperature} must be at least {MIN_TEMPERATURE}; CLIP's is 0.01"
            )
        self.loss_batch = loss_batch
        self.partitions = partitions
        self.temperature = temperature
        self.seed = seed
        self.features = (ClipFeatures(model, pretrained, precision),)
        self._normalisers: ByUid | None = None

    def fit_corpus(self, corpus: Corpus) -> None:
        """Compute the normalisation term of every pair in the pool."""
        self._normalisers = corpus.by_uid("normalisers", np.float32, partial(self._measure, corpus))

    def _measure(self, corpus: Corpus, means: npt.NDArray[np.float32]) -> None:
        """Put the mean of each pair's normalisation terms over the partitions into `means` (n,)."""
        shape = (self.partitions, len(means))
        orders = write_array(corpus.scratch / "orders.npy", shape, np.int64, self._draw)
        total = new_mapped(corpus.scratch / "total.npy", np.float64, means.shape)
        for number, order in enumerate(orders.values):
            folder = corpus.scratch / f"partition{number}"
            batches = _LossBatches(corpus, order, folder, self.loss_batch, self.temperature)
            for piece, values in enumerate(corpus.map(f"negcliploss{number}", batches, batches.count)):
                total[order[batches.rows(piece)]] += values.values
            shutil.rmtree(folder, ignore_errors=True)
        for part in chunks(means):
            means[part] = total[part] / self.partitions

    def _draw(self, orders: npt.NDArray[np.int64]) -> None:
        """Put a random order of the n pairs into each row of (partitions, n)."""
        rng = np.random.default_rng(self.seed)
        for order in np.asarray(orders):
            order[:] = np.arange(len(order))
            rng.shuffle(order)

    def score(self, batch: Batch) -> Scores:
        """Return scores of shape (n,), at most 0."""
        assert self._normalisers is not None
        return cosines(batch.features["image"], batch.features["text"]) - self._normalisers(batch.uids)


class _LossBatches(PieceWork):
    """The batches of one partition, numbered from 0, on the disk in the partition's order.

    Args:
        corpus: the pool.
        order: its n rows in the partition's order, which is cut into batches of equal size; (n,).
        folder: folder of the embeddings in that order, until the partition is done.
        loss_batch: maximum number of pairs per batch.
        temperature: see `normalisers`.
    """

    def __init__(
        self, corpus: Corpus, order: npt.NDArray[np.int64], folder: Path, loss_batch: int, temperature: float
    ) -> None:
        self.pairs = len(order)
        self.count = max(1, -(-self.pairs // loss_batch))
        self._images, self._texts = (
            _in_order(corpus.embeddings(n), order, folder / f"{n}.npy") for n in ("image", "text")
        )
        self._temperature = temperature

    def setup(self, device: Device) -> None:
        """Compute on the worker's device."""
        self._device = device

    def rows(self, piece: int) -> slice:
        """Return the rows of one batch in the order; the first batches take the remainder of an equal division."""
        size, larger = divmod(self.pairs, self.count)
        start = piece * size + min(piece, larger)
        return slice(start, start + size + (piece < larger))

    def __call__(self, piece: int, /) -> npt.NDArray[np.float64]:
        """Return the normalisers of one batch, (n,)."""
        import torch

        rows = self.rows(piece)
        images, texts = (torch.tensor(of[rows], device=self._device) for of in (self._images, self._texts))
        return normalisers(images, texts, self._temperature)


def _in_order(embeddings: Rows, order: npt.NDArray[np.int64], path: Path) -> LazyArray:
    """Return embeddings (n, d) in another order (n,), copied to the file `path` when they are first read.

    In the original order the rows of each batch would be at random places: one disk read per row.
    """
    folder = path.parent

    def invert(positions: npt.NDArray[np.int64]) -> None:
        parts = ((order[part], np.arange(part.start, part.stop)) for part in chunks(order))
        put_in_order(parts, positions, folder)

    def fill(array: npt.NDArray[np.float16]) -> None:
        positions = write_array(folder / "positions.npy", order.shape, np.int64, invert)
        put_in_order(((positions[part], embeddings[part]) for part in chunks(order)), array, folder)

    return LazyArray(path, embeddings.shape, np.float16, fill)


def normalisers(images: torch.Tensor, texts: torch.Tensor, temperature: float) -> npt.NDArray[np.float64]:
    """Return t/2 [log sum_j exp(x_i.y_j/t) + log sum_j exp(x_j.y_i/t)] for each pair of one batch, (n,).

    Args:
        images: image embeddings x, unit vectors of shape (n, d).
        texts: caption embeddings y, unit vectors of shape (n, d).
        temperature: the temperature t.
    """
    tile = TILE[images.device.type]
    by_image, by_text = (images.new_zeros(len(images)).double() for _ in range(2))
    for i in range(0, len(images), tile):
        rows = images[i : i + tile].float()
        for j in range(0, len(texts), tile):
            # In float32 most terms are denormal, which is ten times slower, and small terms are lost.
            terms = (rows @ texts[j : j + tile].float().T).double().mul_(1 / temperature).exp_()
            by_image[i : i + tile] += terms.sum(1)
            by_text[j : j + tile] += terms.sum(0)
    return np.asarray((by_image.log() + by_text.log()).cpu().numpy() * temperature / 2)
