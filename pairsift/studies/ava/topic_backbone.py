"""A vision backbone trained from scratch on the topics of captions (Ghosal et al. 2019, section 4.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import timm
import timm.models
import torch
import torch.nn.functional as F  # noqa: N812, its usual name
from torch import nn

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.hashes import hash_bytes
from benchmark.core.identity import Identified
from benchmark.core.progress import MetricLogger
from benchmark.core.ranges import PositiveInt
from benchmark.core.uids import UidArray, encode_uids
from downstream.batching import pixel_levels, to_pixels
from downstream.models.base import Trainable, model_folder, seeded
from downstream.models.networks import zero_of
from downstream.models.timm_encoder import timm_processor
from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import Inputs, SampleOrder, TrainingData, TrainingSubset

# Fields of timm's config that hold for any weights of the architecture; tag, licence and origin describe timm's own.
KEPT_FIELDS = ("architecture", "interpolation", "mean", "std", "first_conv", "classifier", "fixed_input_size")


@dataclass(frozen=True)
class TopicLabels(Identified):
    """Soft labels of n samples.

    Args:
        uids: sorted and distinct, shape (n,).
        topics: probabilities, shape (n, K).
    """

    uids: UidArray
    topics: npt.NDArray[np.float32]

    def identity(self) -> dict[str, Any]:
        """Return a hash of the labels."""
        return {"sha256": hash_bytes(self.uids.tobytes() + self.topics.tobytes())}

    def of(self, uids: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the topics of `uids`, shape (len(uids), K); each must have a label."""
        return self.topics[np.searchsorted(self.uids, encode_uids(uids))]

    def references(self) -> tuple[float, float]:
        """Return the lowest possible cross-entropy, and that of the best constant prediction, the mean label."""
        p = self.topics.astype(np.float64)
        mean = p.mean(0)
        own = -np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0), axis=1).mean()
        return float(own), float(-np.sum(mean * np.log(mean, out=np.zeros_like(mean), where=mean > 0)))


@dataclass(frozen=True)
class TopicCollate:
    """Turns samples into tensors: ``pixel_values`` (n, 3, size, size) and ``topics`` (n, K)."""

    processor: Any
    labels: TopicLabels

    def __call__(self, samples: list[Sample]) -> Inputs:
        """Return the tensors of a batch."""
        pixels = to_pixels(self.processor, [sample.image for sample in samples])
        topics = self.labels.of([sample.uid for sample in samples])
        return {"pixel_values": pixels, "topics": torch.from_numpy(topics)}


class TopicLoss(nn.Module):
    """Cross-entropy of predicted topics q and labels p, -sum p log q, summed over the batch.

    Section 4.4 of the paper; Table 4 of its supplement prints "binary cross entropy", which would score each topic
    independently, but a label is one distribution over all topics.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    @property
    def towers(self) -> list[nn.Module]:
        """The timm model."""
        return [self.model]

    def forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (sum of losses, number of images)."""
        if not inputs:
            zero = zero_of(self)
            return zero, zero.detach()
        logits, topics = self.model(inputs["pixel_values"]).float(), inputs["topics"]
        images = torch.tensor(len(topics), device=logits.device)
        return F.cross_entropy(logits, topics, reduction="sum"), images


class WeakBackbone(Trainable):
    """A timm model with one output per topic. It is evaluated as the encoder of a captioner.

    Args:
        architecture: timm's name of the model.
        image_size: side of the square that images are resized to, uncropped.
        labels: labels of all training samples.
    """

    name = "weak_backbone"
    model: Any

    def __init__(
        self, architecture: str, image_size: PositiveInt, training: TrainConfig, labels: TopicLabels
    ) -> None:
        self.architecture = architecture
        self.image_size = image_size
        self.training = training
        self.labels = labels

    def build(self, device: torch.device) -> None:
        """Draw all weights from the seed. Raises `UserError` if the architecture cannot take images of that size."""
        check_architecture(self.architecture)
        size = self.image_size
        topics = self.labels.topics.shape[1]
        try:
            with seeded(self.training.seed):
                model: Any = timm.create_model(self.architecture, pretrained=False, num_classes=topics)
                if hasattr(model, "set_input_size"):  # transformers with a fixed grid of patches
                    model.set_input_size(img_size=(size, size))
            with torch.inference_mode():
                model.eval()(torch.zeros(1, 3, size, size))
        except (AssertionError, ValueError, RuntimeError) as error:
            reason = str(error).strip().split("\n")[0][:200]
            raise UserError(
                f"weak_backbone.architecture={self.architecture} cannot be built for"
                f" weak_backbone.image_size={size}: {reason}"
            ) from error
        kept = {name: model.pretrained_cfg[name] for name in KEPT_FIELDS if name in model.pretrained_cfg}
        uncropped = {"input_size": (3, size, size), "crop_pct": 1.0, "crop_mode": "squash"}
        model.pretrained_cfg = kept | uncropped | {"num_classes": topics}
        self._use(model, device)

    def _use(self, model: Any, device: torch.device) -> None:
        self.processor = timm_processor(model.pretrained_cfg, self.architecture)
        self.model = model.to(device)
        self.device = device

    def fit(
        self, subset: TrainingSubset, folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Train on `subset` for the budget."""
        collate = TopicCollate(self.processor, self.labels)
        levels = pixel_levels(partial(to_pixels, self.processor), self.device)
        data = TrainingData(subset, SampleOrder(subset.epochs, self.training.seed), collate, levels=levels)
        trainer = Trainer(self.name, self.training, self.device, tracker)
        return trainer.fit(TopicLoss(self.model), data, folder / "checkpoints", fingerprint)

    def save(self, path: Path) -> None:
        """Write a folder that timm loads as ``local-dir:PATH`` and the captioner loads as its encoder."""
        timm.models.save_for_hf(self.model, str(path), safe_serialization=True)

    def load(self, path: Path, device: torch.device) -> None:
        """Load the model that `save` or `train` wrote to `path`."""
        self._use(timm.create_model(f"local-dir:{model_folder(path)}", pretrained=True).eval(), device)


def check_architecture(name: str) -> None:
    """Raise `UserError` unless timm has the architecture `name`."""
    if not timm.is_model(name):
        hint = did_you_mean(name, timm.list_models())
        raise UserError(f"weak_backbone.architecture={name} must be an architecture of timm; {hint}")
