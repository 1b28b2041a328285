"""Random changes of training images (DS-CLIP, supplement, section B)."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageFilter

from benchmark.core.batch import Sample

CROP_SHARE = (0.5, 1.0)  # of the area; the paper names none, SLIP and DeCLIP before it have this


@dataclass(frozen=True)
class ImageAugmentation:
    """Changes the image of a sample, see `augment_image`; `size` is that of the square which the model reads."""

    size: int

    def __call__(self, sample: Sample, rng: np.random.Generator) -> Sample:
        """Return the sample with another image."""
        return replace(sample, image=augment_image(sample.image, self.size, rng))


def augment_image(image: Image.Image, size: int, rng: np.random.Generator) -> Image.Image:
    """Return a random square of `image`, `size` pixels wide, flipped or not, recoloured, blurred, under RandAugment.

    The paper lists the changes without their strengths: those of colour and blur are SimCLR's (Chen et al. 2020),
    RandAugment's are torchvision's. All follows from `rng`; torch's own generator is left as it was.
    """
    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(int(rng.integers(1 << 63)))
        changed: Image.Image = _changes(size)(image)
    return changed


@lru_cache(maxsize=2)
def _changes(size: int) -> Any:
    from torchvision.transforms import v2

    return v2.Compose(
        [
            v2.RandomResizedCrop(size, scale=CROP_SHARE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8),
            v2.RandomApply([v2.Lambda(_blur)], p=0.5),
            v2.RandAugment(),
        ]
    )


def _blur(image: Image.Image) -> Image.Image:
    # Pillow's is twenty times as fast as torchvision's.
    return image.filter(ImageFilter.GaussianBlur(float(torch.empty(()).uniform_(0.1, 2.0))))
