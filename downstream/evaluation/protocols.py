"""Evaluation's view of a model: captions, embeddings, features for a probe, metrics in the middle of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.progress import CaptionedImage
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.metrics.metric import Metric

if TYPE_CHECKING:
    import torch

Sets = Sequence[EvaluationSet | ClassificationSet]
Evaluated = dict[str, list[Metric]]  # by evaluation set (``coco``) or domain of a set (``nocaps/out-domain``)
LOCKED = "the image tower is locked: its probe is the same for every filter"


@runtime_checkable
class Captions(Protocol):
    """A model that captions images."""

    def caption(self, images: Iterable[Image.Image]) -> list[str]:
        """Return one caption per RGB image, each a single line."""


@runtime_checkable
class Embeds(Protocol):
    """A model that embeds images and texts into one space."""

    def embed_images(self, images: Iterable[Image.Image]) -> npt.NDArray[np.float32]:
        """Return the unit vectors of RGB `images`, (n, d)."""

    def embed_texts(self, texts: Iterable[str]) -> npt.NDArray[np.float32]:
        """Return the unit vectors of `texts`, (n, d)."""


@dataclass(frozen=True)
class FrozenTower:
    """An image tower that a probe is trained on."""

    # From pixels (n, 3, h, w) to the tower's features (n, width), before any head.
    features: Callable[[torch.Tensor], torch.Tensor]
    width: int  # of the features
    processor: Any
    batch_size: int
    device: torch.device
    seed: int
    workers: int


@dataclass(frozen=True)
class Validated:
    """Metrics by name, and captions that the model writes at that time."""

    metrics: Mapping[str, float]
    captions: Sequence[CaptionedImage] = ()


Validate = Callable[[], Validated]
