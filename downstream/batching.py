"""Images in chunks and as the pixels that a model reads; rows of a batch in groups of similar length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from PIL import Image

from benchmark.core.launch import own_cores
from benchmark.core.pixel_workers import MANY_IMAGES, Loadable, PixelWorkers, find_levels, to_device
from benchmark.core.progress import progress, tracked

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
# On a CPU padding costs as much as text: in groups of 12, a step of the demo's captioner takes 0.6 of the time (`make
# perf`). A GPU gets one large batch, since small batches do not fill it.
CPU_GROUP = 12


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut `items` into lists of `size`; the last may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


@dataclass(frozen=True)
class StoredImages(Iterable[Image.Image]):
    """Images on disk, each decoded when its turn comes; `pixel_batches` decodes many of them in processes."""

    items: Sequence[Loadable]
    title: str  # of the progress bar

    def __iter__(self) -> Iterator[Image.Image]:
        return (item.load() for item in tracked(self.title, self.items, len(self.items), "images"))


def pixel_batches(
    images: Iterable[Image.Image],
    preprocess: Callable[[list[Image.Image]], torch.Tensor],
    size: int,
    device: torch.device,
) -> Iterator[torch.Tensor]:
    """Yield the pixels of `size` images at a time, on `device`.

    Args:
        images: RGB images; if `MANY_IMAGES` are stored and this process has more than one core, other processes read
            and preprocess the next images while the caller works on a batch.
        preprocess: picklable; from images to float32 (n, c, h, w), each image independent of the others.
    """
    processes = own_cores()
    if isinstance(images, StoredImages) and len(images.items) >= MANY_IMAGES and processes > 1:
        workers = PixelWorkers(partial(_pixels_of_one, preprocess), processes, device)
        batches = list(chunks(images.items, size))
        with progress(images.title, len(images.items), "images") as advance:
            for batch in workers.batches(batches):
                yield batch.pixels
                advance(len(batch.pixels), "")
    else:
        yield from (to_device(preprocess(chunk), device) for chunk in chunks(images, size))


def pixel_levels(
    preprocess: Callable[[list[Image.Image]], torch.Tensor], device: torch.device
) -> torch.Tensor | None:
    """Return `find_levels` of a preprocessing, or None on a CPU, which would gain nothing from fewer bytes."""
    return find_levels(partial(_pixels_of_one, preprocess)) if reads_wait(device) else None


def _pixels_of_one(
    preprocess: Callable[[list[Image.Image]], torch.Tensor], image: Image.Image
) -> torch.Tensor:
    return preprocess([image])[0]


def to_pixels(processor: Any, images: list[Image.Image]) -> torch.Tensor:
    """Return `images` as the checkpoint's own image processor prepares them, shape (n, 3, height, width)."""
    pixels: torch.Tensor = processor(images=images, return_tensors="pt")["pixel_values"]
    return pixels


def reads_wait(device: torch.device) -> bool:
    """Return whether reading a number from `device` makes this process wait for all work queued there."""
    return device.type != "cpu"


def width_multiple(device: torch.device, max_tokens: int) -> int:
    """Return the number that widths of batches of captions are a multiple of, so that none is above `max_tokens`.

    On a GPU it is 8: its kernels need aligned rows, or copy them, and fewer shapes recur more often.
    """
    return math.gcd(8, max_tokens) if reads_wait(device) else 1


def groups_of_similar_length(mask: torch.Tensor) -> list[tuple[torch.Tensor | slice, int]]:
    """Return the rows of a batch in groups, each with its longest length, so that few positions are padding.

    Args:
        mask: 0 or False for padding at the end of a row; shape (n, t), n > 0.

    Returns:
        Row numbers of each group, int64, and the number of positions that it needs. Every row is in one group; on a
        GPU there is a single group, all rows in order at their full width.
    """
    if reads_wait(mask.device):
        return [(slice(None), mask.shape[1])]
    lengths = mask.sum(1)
    rows = lengths.argsort(stable=True).tensor_split(max(1, len(lengths) // CPU_GROUP))
    return [(group, int(lengths[group].max())) for group in rows]
