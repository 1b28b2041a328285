"""A CLIP of open_clip as a network that the trainer trains, and how samples become its inputs."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812, its usual name
from PIL import Image
from torchvision.transforms import v2

from downstream.batching import stack_pixels
from downstream.models.networks import PairCollate, PairNetwork
from downstream.training.training_data import Inputs

CROP_AREA = (0.9, 1.0)  # fraction of a training image that open_clip's trainer crops, its only augmentation


@lru_cache(maxsize=2)
def open_clip_changes(size: int) -> Any:
    """Return the random crop of open_clip's trainer (its `AugmentationCfg`)."""
    return v2.RandomResizedCrop(size, scale=CROP_AREA, interpolation=v2.InterpolationMode.BICUBIC)


@dataclass(frozen=True)
class ClipProcessor:
    """open_clip's preprocessing of images, called as the hub's image processors are."""

    preprocess: Any
    resample: int = Image.Resampling.BICUBIC

    def __call__(self, images: list[Image.Image], return_tensors: str) -> Inputs:
        """Return ``pixel_values``, (n, 3, h, w)."""
        return {"pixel_values": stack_pixels(self.preprocess, images)}


@dataclass(frozen=True)
class ClipCollate(PairCollate):
    """Turns pairs into tensors, by open_clip's tokenizer; `max_tokens` is the length that the architecture takes."""

    def tokens(self, texts: list[str]) -> Inputs:
        """Return ``input_ids`` and a mask of ones, each (n, max_tokens): CLIP pools at the end token."""
        ids = self.tokenizer(texts, self.max_tokens)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


class ClipNetwork(PairNetwork):
    """A CLIP of open_clip, with the contrastive loss over all processes.

    Its features of images, on which a probe is trained, are the vectors before they are normalised.
    """

    def __init__(self, clip: Any, dimensions: int) -> None:
        super().__init__()
        self.clip = clip
        self.dimensions = self.width = dimensions
        self.log_scale = clip.logit_scale  # one parameter of two names

    @property
    def towers(self) -> list[Any]:
        """The whole CLIP, which recomputes the activations of both towers."""
        return [self.clip]

    def image_features(self, pixel_values: torch.Tensor) -> torch.Tensor:
        """Return the vectors of pixels (n, 3, h, w), not normalised, (n, d)."""
        features: torch.Tensor = self.clip.encode_image(pixel_values)
        return features.float()

    def embed_images(self, features: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of image features."""
        return F.normalize(features, dim=-1)

    def embed_texts(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return the unit vectors (n, d) of tokenised texts, each (n, t)."""
        return F.normalize(self.clip.encode_text(input_ids).float(), dim=-1)
