"""What evaluation asks of a model: to caption images, or to embed images and texts."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from PIL import Image


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
