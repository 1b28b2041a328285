"""Images in chunks and as the pixels that a model reads; rows of a batch in groups of similar length."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import torch
from PIL import Image

T = TypeVar("T")
# On a CPU padding costs as much as text: in groups of 12, a step of the demo's captioner takes 0.6 of the time (`make
# perf`). A GPU is left with one large batch, since small ones do not fill it.
CPU_GROUP = 12


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut `items` into lists of `size`; the last may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def to_pixels(processor: Any, images: list[Image.Image]) -> torch.Tensor:
    """Return `images` as the checkpoint's own image processor prepares them, shape (n, 3, height, width)."""
    pixels: torch.Tensor = processor(images=images, return_tensors="pt")["pixel_values"]
    return pixels


def groups_of_similar_length(mask: torch.Tensor) -> list[tuple[torch.Tensor, int]]:
    """Return the rows of a batch in groups, each with its longest length, so that few positions are padding.

    Args:
        mask: 0 or False where a row is padding, at its end; shape (n, t), n > 0.

    Returns:
        Row numbers of each group, int64, and the number of positions that it needs. Every row is in one group; on a
        GPU there is a single group.
    """
    lengths = mask.sum(1).cpu()
    groups = max(1, len(lengths) // CPU_GROUP) if mask.device.type == "cpu" else 1
    rows = lengths.argsort(stable=True).tensor_split(groups)
    return [(group.to(mask.device), int(lengths[group].max())) for group in rows]
