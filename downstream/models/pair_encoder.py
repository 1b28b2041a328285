"""The base of models that embed images and texts into one space: training on pairs, embedding, evaluation."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.core.progress import MetricLogger
from downstream.batching import chunks, pixel_batches, to_pixels
from downstream.evaluation.embedding import evaluate_embeddings
from downstream.evaluation.protocols import Evaluated, FrozenTower, Sets
from downstream.metrics.base import CaptionMetric
from downstream.models.base import Downstream
from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import EpochSamples, SampleOrder, Samples, TrainingData

if TYPE_CHECKING:
    import torch

    from downstream.models.networks import ImageAugmentation, PairCollate, PairNetwork

log = logging.getLogger(__name__)
Vectors = npt.NDArray[np.float32]


class PairEncoder(Downstream):
    """A `PairNetwork` with its `collate`, both set by `build` and `load`, under the trainer.

    Args:
        eval_batch_size: images or texts that are embedded at once.
    """

    model: PairNetwork
    collate: PairCollate

    def __init__(self, training: TrainConfig, eval_batch_size: int) -> None:
        if training.batch_size < 2:
            raise UserError(
                f"downstream.{self.name}.training.batch_size must be at least 2: the loss compares pairs of a batch"
            )
        self.training = training
        self.eval_batch_size = eval_batch_size

    @abstractmethod
    def augmentation(self) -> ImageAugmentation | None:
        """Return how training images are augmented, None for not at all."""

    def source(
        self, subset: EpochSamples[Sample], order: SampleOrder, folder: Path, fingerprint: str
    ) -> Samples[Any]:
        """Return the samples to train on; images may be embedded in advance."""
        return subset

    def fit(
        self, subset: EpochSamples[Sample], folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Train on `subset` for the budget."""
        if 0 < len(subset) < self.training.batch_size:
            log.warning(
                "%s: batches of %s hold some of the %s pairs more than once, and the loss takes copies for others",
                self.name,
                f"{self.training.batch_size:,}",
                f"{len(subset):,}",
            )
        order = SampleOrder(subset.epochs, self.training.seed)
        source = self.source(subset, order, folder, fingerprint)
        weights = self.model.caption_weights = (1.0, *subset.caption_weights)
        collate = replace(self.collate, kinds=len(weights))
        decodes, draws = source is subset, not subset.caption_weights
        data = TrainingData(source, order, collate, self.augmentation(), decodes, draws)
        trainer = Trainer(self.name, self.training, self.device, tracker, validate=self.validate)
        return trainer.fit(self.model, data, folder / "checkpoints", fingerprint)

    def image_features(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the image tower's features of `pixels`, (n, width), before any head."""
        with self.inference():
            features: torch.Tensor = self.model.image_features(pixels.to(self.device, non_blocking=True))
        return features

    def embed_images(self, images: Iterable[Image.Image]) -> Vectors:
        """Return the unit vectors of RGB `images`, float32 (n, d)."""
        self.model.eval()
        vectors = []
        preprocess = partial(to_pixels, self.collate.processor)
        for pixels in pixel_batches(images, preprocess, self.eval_batch_size, self.device):
            features = self.image_features(pixels)
            with self.inference():
                vectors.append(self.model.embed_images(features))
        return self._stack(vectors)

    def embed_texts(self, texts: Iterable[str]) -> Vectors:
        """Return the unit vectors of `texts`, float32 (n, d)."""
        self.model.eval()
        vectors = []
        for chunk in chunks(texts, self.eval_batch_size):
            tokens = {name: ids.to(self.device) for name, ids in self.collate.tokens(chunk).items()}
            with self.inference():
                vectors.append(self.model.embed_texts(**tokens))
        return self._stack(vectors)

    def _stack(self, vectors: list[torch.Tensor]) -> Vectors:
        empty = np.empty((0, self.model.dimensions), np.float32)
        return np.concatenate([empty, *(vector.float().cpu().numpy() for vector in vectors)])

    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Evaluate on every set for retrieval, then on every classification set; keep the ranks in `folder`."""
        return evaluate_embeddings(self, sets, self.probed_tower(), folder)

    def probed_tower(self) -> FrozenTower | str:
        """Return the image tower that a linear probe is trained on, or the reason why none is."""
        self.model.eval()
        return FrozenTower(
            features=self.image_features,
            width=self.model.width,
            processor=self.collate.processor,
            batch_size=self.eval_batch_size,
            device=self.device,
            seed=self.training.seed,
            workers=self.training.workers_on(self.device),
        )
