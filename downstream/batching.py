"""Images in chunks, and as the pixels that a model reads."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import torch
from PIL import Image

T = TypeVar("T")


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut `items` into lists of `size`; the last may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def to_pixels(processor: Any, images: list[Image.Image]) -> torch.Tensor:
    """Return `images` as the checkpoint's own image processor prepares them, shape (n, 3, height, width)."""
    pixels: torch.Tensor = processor(images=images, return_tensors="pt")["pixel_values"]
    return pixels
