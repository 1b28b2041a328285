"""The linear probe: a linear classifier on a frozen image tower (DS-CLIP, supplement, section B)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows it by
from PIL import Image
from torch import nn
from torch.utils.data import Dataset

from benchmark.core.errors import UserError
from benchmark.core.progress import progress
from downstream.evaluation.classification_sets import ClassificationSet, LabelledImage
from downstream.metrics.classification import class_ranks
from downstream.models.base import chunks, to_pixels
from downstream.models.dual_encoder import DualEncoder
from downstream.training.training_data import SampleOrder, loader

LOCKED = "the image tower is locked: its probe is the same for every filter"
LR, MOMENTUM, BATCH_SIZE = 0.1, 0.9, 128
# The usual bounds of a random resized crop (Szegedy et al. 2015): its share of the area, and its width by height.
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
ATTEMPTS = 10


@dataclass(frozen=True)
class View:
    """Cuts images to the square that the image tower takes, `size` pixels wide, with Pillow's filter `resample`."""

    size: int
    resample: int

    def random(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        """Return a random crop of `image`, flipped every other time."""
        view = self._resized(image, _random_box(image.width, image.height, rng))
        return view.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.random() < 0.5 else view

    def centre(self, image: Image.Image) -> Image.Image:
        """Return the middle of `image` once its shorter side is `size`."""
        side = min(image.size)
        left, top = (image.width - side) / 2, (image.height - side) / 2
        return self._resized(image, (left, top, left + side, top + side))

    def _resized(self, image: Image.Image, box: tuple[float, float, float, float]) -> Image.Image:
        return image.resize((self.size, self.size), Image.Resampling(self.resample), box)


def _random_box(width: int, height: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
    for _ in range(ATTEMPTS):
        area = width * height * rng.uniform(*AREA)
        ratio = math.exp(rng.uniform(math.log(RATIO[0]), math.log(RATIO[1])))
        w, h = math.sqrt(area * ratio), math.sqrt(area / ratio)
        if w <= width and h <= height:
            left, top = rng.uniform(0, width - w), rng.uniform(0, height - h)
            return left, top, left + w, top + h
    side = min(width, height)  # a narrow strip has no crop of such a shape: its middle
    left, top = (width - side) / 2, (height - side) / 2
    return left, top, left + side, top + side


@dataclass(frozen=True)
class ProbeBatches(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Item s is the batch of step s: pixels of random views (n, 3, h, w) and labels (n,).

    Every view follows from (seed, position), so the number of workers changes nothing.
    """

    items: Sequence[LabelledImage]
    order: SampleOrder
    budget: int
    view: View
    processor: Any

    def __len__(self) -> int:
        return math.ceil(self.budget / BATCH_SIZE)

    def __getitem__(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        positions = range(step * BATCH_SIZE, min((step + 1) * BATCH_SIZE, self.budget))
        drawn = [self.items[i] for i in self.order.indices(positions.start, positions.stop)]
        views = [
            self.view.random(item.load(), np.random.default_rng([self.order.seed, position]))
            for position, item in zip(positions, drawn, strict=True)
        ]
        return to_pixels(self.processor, views), torch.tensor([item.label for item in drawn])


def probe_ranks(model: DualEncoder, evaluation_set: ClassificationSet) -> npt.NDArray[np.int64]:
    """Train a probe on the set's training images and return the rank of each test image's class, (n,).

    The features are the image tower's, before any head. SGD with momentum 0.9 (the paper names no number), learning
    rate 0.1 with a cosine to 0, batches of 128, no weight decay; seeded by the model's training. The paper's random
    crop is taken to be the usual random resized crop, since images smaller than the tower's input have no other.
    """
    items = evaluation_set.train() if evaluation_set.train is not None else []
    if not items:
        raise UserError(f"evaluation set {evaluation_set.name} has no training images for a linear probe")
    processor = model.collate.processor
    # What the checkpoint's processor makes of any image is as large as what the tower takes.
    size = int(to_pixels(processor, [items[0].load()]).shape[-1])
    view = View(size, int(processor.resample))
    order = SampleOrder.over(len(items), model.training.seed)
    batches = ProbeBatches(items, order, evaluation_set.probe_epochs * len(items), view, processor)
    model.model.eval()
    head = _train(model, batches, len(evaluation_set.classes), evaluation_set.name)
    scores = _test_scores(model, head, evaluation_set.test, view)
    labels = np.array([item.label for item in evaluation_set.test])
    return class_ranks(lambda part: scores[part], labels, len(evaluation_set.classes))


def _train(model: DualEncoder, batches: ProbeBatches, classes: int, name: str) -> nn.Linear:
    """Return the trained classifier. It starts from zeros: the loss is convex, so nothing has to be drawn."""
    width: int = model.model.image_tower.config.hidden_size
    head: nn.Linear = nn.utils.skip_init(nn.Linear, width, classes, device=model.device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    optimizer = torch.optim.SGD(head.parameters(), lr=LR, momentum=MOMENTUM)
    steps = loader(batches, range(len(batches)), model.training.workers, model.device)
    with progress(f"linear probe of {name}", batches.budget, "images") as advance:
        for step, (pixels, labels) in enumerate(steps):
            optimizer.param_groups[0]["lr"] = LR * 0.5 * (1 + math.cos(math.pi * step / len(batches)))
            # A clone: what was made in inference mode may not take part in a gradient.
            features = model.image_features(pixels).clone()
            loss = F.cross_entropy(head(features), labels.to(model.device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            advance(len(labels), "")
    return head


@torch.inference_mode()
def _test_scores(
    model: DualEncoder, head: nn.Linear, items: Sequence[LabelledImage], view: View
) -> npt.NDArray[np.float32]:
    """Return the classifier's scores of `items`, (n, classes)."""
    scores = []
    for chunk in chunks(items, model.eval_batch_size):
        pixels = to_pixels(model.collate.processor, [view.centre(item.load()) for item in chunk])
        scores.append(head(model.image_features(pixels)).float().cpu())
    stacked: npt.NDArray[np.float32] = torch.cat(scores).numpy()
    return stacked
