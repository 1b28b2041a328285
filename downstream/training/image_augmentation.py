"""Random augmentation of training images (DS-CLIP, supplement, section B)."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageFilter
from torchvision.transforms import v2

from benchmark.core.batch import Sample

CROP_AREA = (0.5, 1.0)  # fraction of the image, as in SLIP and DeCLIP; the paper names none


@dataclass(frozen=True)
class ImageAugmentation:
    """Augments the image of a sample, see `augment_image`; `size` is the width of the model's square input."""

    size: int

    def __call__(self, sample: Sample, rng: np.random.Generator) -> Sample:
        """Return the sample with its image augmented."""
        return replace(sample, image=augment_image(sample.image, self.size, rng))


def augment_image(image: Image.Image, size: int, rng: np.random.Generator) -> Image.Image:
    """Return a random square crop of `image`, `size` pixels wide, with random flip, colours, blur and RandAugment.

    The paper lists these changes without strengths: colour and blur have SimCLR's (Chen et al. 2020), RandAugment has
    torchvision's. All depends on `rng` alone; torch's global generator is restored.
    """
    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
        changed: Image.Image = _changes(size)(image)
    return changed


@lru_cache(maxsize=2)
def _changes(size: int) -> Any:
    return v2.Compose(
        [
            v2.RandomResizedCrop(size, scale=CROP_AREA, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            v2.RandomApply([v2.Lambda(_blur)], p=0.5),
            v2.RandAugment(),
        ]
    )


def _blur(image: Image.Image) -> Image.Image:
    # Pillow's blur is twenty times as fast as torchvision's.
    return image.filter(ImageFilter.GaussianBlur(float(torch.empty(()).uniform_(0.1, 2.0))))
