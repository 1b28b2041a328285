"""A vision backbone trained from scratch on the topics of captions (Ghosal et al. 2019, section 4.4)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows it by
from PIL import Image
from torch import nn

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.core.metric_logger import MetricLogger
from benchmark.core.uids import UidArray, encode_uids
from downstream.models.base import CPU, Downstream, chunks, half_precision, model_folder, seeded, to_pixels
from downstream.models.timm_encoder import timm_processor
from downstream.training.checkpointing import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import EpochSamples, Inputs, SampleOrder, TrainingData

# Of what timm knows about its own weights of an architecture; the rest (tag, licence, origin) is not true of ours.
KEPT = ("architecture", "interpolation", "mean", "std", "first_conv", "classifier", "fixed_input_size")


@dataclass(frozen=True)
class TopicLabels:
    """Soft labels of n samples.

    Args:
        uids: sorted, each once, of shape (n,).
        topics: probabilities of shape (n, K).
    """

    uids: UidArray
    topics: npt.NDArray[np.float32]

    def of(self, uids: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the topics of `uids`, each of which has a label."""
        return self.topics[np.searchsorted(self.uids, encode_uids(uids))]

    def references(self) -> tuple[float, float]:
        """Return the least cross-entropy that can be reached, and that of the mean label, the best constant."""
        p = self.topics.astype(np.float64)
        mean = p.mean(0)
        own = -np.sum(p * np.log(p, out=np.zeros_like(p), where=p > 0), axis=1).mean()
        return float(own), float(-np.sum(mean * np.log(mean, out=np.zeros_like(mean), where=mean > 0)))


@dataclass(frozen=True)
class TopicCollate:
    """Makes tensors of samples: ``pixel_values`` (n, 3, size, size) and ``topics`` (n, K)."""

    processor: Any
    labels: TopicLabels

    def __call__(self, samples: list[Sample]) -> Inputs:
        """Return the tensors of `samples`."""
        pixels = to_pixels(self.processor, [sample.image for sample in samples])
        topics = self.labels.of([sample.uid for sample in samples])
        return {"pixel_values": pixels, "topics": torch.from_numpy(topics)}


class TopicLoss(nn.Module):
    """Cross-entropy of predicted topics q and labels p, -sum p log q, summed over the batch.

    That is the paper's section 4.4; Table 4 of its supplement prints "binary cross entropy", which would score each
    topic by itself. Labels are one distribution over topics, so section 4.4 is followed.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (sum of losses, number of images)."""
        if not inputs:  # another process has samples and waits for this one's gradients
            zero = 0 * torch.stack([p.sum() for p in self.parameters()]).sum()
            return zero, zero.detach()
        logits, topics = self.model(inputs["pixel_values"]).float(), inputs["topics"]
        return F.cross_entropy(logits, topics, reduction="sum"), torch.tensor(
            len(topics), device=logits.device
        )


class WeakBackbone(Downstream):
    """A timm model with one output a topic.

    Args:
        architecture: timm's name of it.
        image_size: images are resized to this square, uncropped.
        training: budget and recipe.
        labels: of every sample that it will be trained on.
    """

    name = "weak_backbone"
    model: Any

    def __init__(
        self, architecture: str, image_size: int, training: TrainConfig, labels: TopicLabels
    ) -> None:
        self.architecture = architecture
        self.image_size = image_size
        self.training = training
        self.labels = labels

    def build(self, device: torch.device) -> None:
        """Draw all weights from the seed. Raises `UserError` when the architecture takes no images of that size."""
        import timm

        check_architecture(self.architecture)
        size = self.image_size
        topics = self.labels.topics.shape[1]
        try:
            with seeded(self.training.seed):
                model: Any = timm.create_model(self.architecture, pretrained=False, num_classes=topics)
                if hasattr(model, "set_input_size"):  # transformers of a fixed grid
                    model.set_input_size(img_size=(size, size))
            with torch.inference_mode():
                model.eval()(torch.zeros(1, 3, size, size))
        except (AssertionError, ValueError, RuntimeError) as error:
            reason = str(error).strip().split("\n")[0][:200]
            raise UserError(
                f"weak_backbone.architecture={self.architecture} cannot be built for"
                f" weak_backbone.image_size={size}: {reason}"
            ) from error
        known = {name: model.pretrained_cfg[name] for name in KEPT if name in model.pretrained_cfg}
        whole = {"input_size": (3, size, size), "crop_pct": 1.0, "crop_mode": "squash"}
        model.pretrained_cfg = known | whole | {"num_classes": topics}
        self._place(model, device)

    def _place(self, model: Any, device: torch.device) -> None:
        self.processor = timm_processor(model.pretrained_cfg, self.architecture)
        self.model = model.to(device)
        self.device = device

    def fit(
        self, subset: EpochSamples[Sample], folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Train on `subset` for the budget."""
        collate = TopicCollate(self.processor, self.labels)
        data = TrainingData(subset, SampleOrder(subset.epochs, self.training.seed), collate)
        trainer = Trainer(self.name, self.training, self.device, tracker)
        return trainer.fit(TopicLoss(self.model), data, folder / "checkpoints", fingerprint)

    @torch.inference_mode()
    def predict(self, images: Iterable[Image.Image], batch_size: int = 64) -> npt.NDArray[np.float32]:
        """Return the topics of the RGB `images`, probabilities of shape (n, K)."""
        self.model.eval()
        found = [np.empty((0, self.labels.topics.shape[1]), np.float32)]
        for chunk in chunks(images, batch_size):
            pixels = to_pixels(self.processor, chunk).to(self.device)
            with half_precision(self.device):
                found.append(self.model(pixels).float().softmax(1).cpu().numpy())
        return np.concatenate(found)

    def save(self, path: Path) -> None:
        """Write a folder that timm loads as ``local-dir:PATH``, and the captioner as its encoder."""
        from timm.models import save_for_hf

        save_for_hf(self.model, str(path), safe_serialization=True)

    def load(self, path: Path, device: torch.device = CPU) -> None:
        """Load what `save` wrote to `path`, or what `train` left in it."""
        import timm

        self._place(timm.create_model(f"local-dir:{model_folder(path)}", pretrained=True).eval(), device)


def check_architecture(name: str) -> None:
    """Raise `UserError` when timm knows no such architecture."""
    import timm

    if not timm.is_model(name):
        near = " or ".join(map(repr, get_close_matches(name, timm.list_models(), 2)))
        hint = f"did you mean {near}?" if near else "timm.list_models() lists them"
        raise UserError(f"weak_backbone.architecture={name} is none that timm knows; {hint}")
