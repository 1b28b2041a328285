"""The linear probe: a linear classifier on a frozen image tower (DS-CLIP, supplement, section B)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn

from benchmark.core.errors import UserError
from benchmark.core.pixel_workers import to_device, to_levels
from benchmark.core.progress import tracked
from downstream.batching import StoredImages, pixel_batches, pixel_levels, to_pixels
from downstream.evaluation.classification_sets import ClassificationSet, LabelledImage
from downstream.evaluation.protocols import FrozenTower
from downstream.metrics.rank_metrics import Ranks, class_ranks
from downstream.training.batch_loader import loader
from downstream.training.training_data import SampleOrder

LR, MOMENTUM, BATCH_SIZE = 0.1, 0.9, 128
# The usual bounds of a random resized crop (Szegedy et al. 2015): its fraction of the area, and its width by height.
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
ATTEMPTS = 10


@dataclass(frozen=True)
class View:
    """Crops images to the square that the image tower takes, `size` pixels wide, with Pillow's filter `resample`."""

    size: int
    resample: int

    def random(self, image: Image.Image, rng: np.random.Generator) -> Image.Image:
        """Return a random crop of `image`, flipped with probability 0.5."""
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
    side = min(width, height)  # no such crop fits into a narrow strip: take its middle
    left, top = (width - side) / 2, (height - side) / 2
    return left, top, left + side, top + side


@dataclass(frozen=True)
class ProbeBatches:
    """Item s is the batch of step s: pixels of random views (n, 3, h, w), or their levels, and labels (n,).

    Every view depends only on (seed, position), so the number of workers changes nothing.
    """

    items: Sequence[LabelledImage]
    order: SampleOrder
    budget: int
    view: View
    processor: Any
    levels: torch.Tensor | None = None

    def __len__(self) -> int:
        return math.ceil(self.budget / BATCH_SIZE)

    def __getitem__(self, step: int, /) -> tuple[torch.Tensor, torch.Tensor]:
        positions = range(step * BATCH_SIZE, min((step + 1) * BATCH_SIZE, self.budget))
        drawn = [self.items[i] for i in self.order.indices(positions.start, positions.stop)]
        views = [
            self.view.random(item.load(), np.random.default_rng([self.order.seed, position]))
            for position, item in zip(positions, drawn, strict=True)
        ]
        return to_levels(to_pixels(self.processor, views), self.levels), torch.tensor(
            [item.label for item in drawn]
        )


def probe_ranks(tower: FrozenTower, evaluation_set: ClassificationSet) -> Ranks:
    """Train a probe on the set's training images and return the rank of each test image's class.

    SGD with momentum 0.9 (the paper names no number), learning rate 0.1 with a cosine to 0, batches of 128, no weight
    decay. The paper's random crop is taken to be the usual random resized crop, which also exists for
    images smaller than the tower's input. Raises `UserError` for a set without training images.
    """
    items = evaluation_set.train() if evaluation_set.train is not None else []
    if not items:
        raise UserError(f"evaluation set {evaluation_set.name} has no training images for a linear probe")
    # The processor's output, for any image, has the size of the tower's input.
    size = int(to_pixels(tower.processor, [items[0].load()]).shape[-1])
    view = View(size, int(tower.processor.resample))
    order = SampleOrder.over(len(items), tower.seed)
    budget = evaluation_set.probe_epochs * len(items)
    levels = pixel_levels(partial(to_pixels, tower.processor), tower.device)
    batches = ProbeBatches(items, order, budget, view, tower.processor, levels)
    head = _train(tower, batches, len(evaluation_set.classes), evaluation_set.name)
    preprocess = partial(_centre_pixels, view, tower.processor)
    images = StoredImages(evaluation_set.test, "linear probe")
    with torch.inference_mode():
        parts = pixel_batches(images, preprocess, tower.batch_size, tower.device)
        scores = torch.cat([head(tower.features(pixels)).float().cpu() for pixels in parts]).numpy()
    labels = np.array([item.label for item in evaluation_set.test])
    return class_ranks(lambda part: scores[part], labels, len(evaluation_set.classes), evaluation_set.ties)


def _train(tower: FrozenTower, batches: ProbeBatches, classes: int, name: str) -> nn.Linear:
    """Return the trained classifier. It starts from zeros: the loss is convex, so no random weights are needed."""
    head: nn.Linear = nn.utils.skip_init(nn.Linear, tower.width, classes, device=tower.device)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    optimizer = torch.optim.SGD(head.parameters(), lr=LR, momentum=MOMENTUM)
    steps = loader(batches, range(len(batches)), tower.workers, tower.device)
    bar = tracked(f"linear probe of {name}", steps, len(batches), "steps")
    for step, (pixels, labels) in enumerate(bar):
        optimizer.param_groups[0]["lr"] = LR * 0.5 * (1 + math.cos(math.pi * step / len(batches)))
        # Cloned: a tensor made in inference mode cannot take part in a gradient.
        features = tower.features(to_device(pixels, tower.device, batches.levels)).clone()
        loss = nn.functional.cross_entropy(head(features), labels.to(tower.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return head


def _centre_pixels(view: View, processor: Any, images: list[Image.Image]) -> torch.Tensor:
    return to_pixels(processor, [view.centre(image) for image in images])
