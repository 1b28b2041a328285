"""Samples of an indexed tar, in batches."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import IMAGE_TOO_LARGE, IMAGE_UNREADABLE, Batch, SampleError
from benchmark.core.images import HELD_PIXELS, MAX_BYTES, decode_image
from benchmark.core.pixel_workers import PixelWorkers
from benchmark.pool.tar_index import Integers, TarIndex


def read_images(path: Path, index: TarIndex, batch_size: int, drops: Counter[str]) -> Iterator[Batch]:
    """Yield batches of decoded images, at most `batch_size` of them and 200 megapixels; count others in `drops`."""
    rows: list[int] = []
    images: list[Image.Image] = []
    pixels = 0
    with path.open("rb") as file:
        for row in range(len(index)):
            try:
                images.append(read_image(file, int(index.offsets[row]), int(index.sizes[row])))
                rows.append(row)
                pixels += images[-1].width * images[-1].height
            except SampleError as error:
                drops[error.reason] += 1
            last = (row + 1) % batch_size == 0 or row + 1 == len(index)
            if rows and (last or pixels > HELD_PIXELS):
                yield _batch(index, np.array(rows), images)
                rows, images, pixels = [], [], 0


@dataclass(frozen=True)
class TarImage:
    """The `size` bytes of an image at `offset` of a tar."""

    path: Path
    offset: int
    size: int

    def load(self) -> Image.Image:
        """Decode the image. Raises `SampleError`."""
        with self.path.open("rb") as file:
            return read_image(file, self.offset, self.size)


def read_pixels(
    path: Path, index: TarIndex, batch_size: int, drops: Counter[str], workers: PixelWorkers
) -> Iterator[Batch]:
    """Yield the batches of `read_images` with the pixels of the images in their place."""
    batches = [range(len(index))[start : start + batch_size] for start in range(0, len(index), batch_size)]
    images = [
        [TarImage(path, int(index.offsets[row]), int(index.sizes[row])) for row in rows] for rows in batches
    ]
    for rows, made in zip(batches, workers.batches(images), strict=True):
        drops.update(reason for reason in made.reasons if reason is not None)
        readable = [row for row, reason in zip(rows, made.reasons, strict=True) if reason is None]
        if readable:
            yield replace(_batch(index, np.array(readable), []), pixels=made.pixels)


def read_texts(index: TarIndex, batch_size: int) -> Iterator[Batch]:
    """Yield batches of captions without images."""
    for start in range(0, len(index), batch_size):
        yield _batch(index, np.arange(start, min(start + batch_size, len(index))), [])


def read_image(file: Any, offset: int, size: int) -> Image.Image:
    """Decode the image of `size` bytes at `offset` of an open tar. Raises `SampleError`."""
    if size > MAX_BYTES:
        raise SampleError(IMAGE_TOO_LARGE)
    file.seek(offset)
    data = file.read(size)
    if len(data) < size:
        raise SampleError(IMAGE_UNREADABLE)
    return decode_image(data)


def _batch(index: TarIndex, rows: Integers, images: list[Image.Image]) -> Batch:
    part = index.take(rows)
    columns = {name: _typed(values) for name, values in part.columns.items()}
    return Batch(part.uids, part.texts, images, columns)


def _typed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a column of JSON values as numbers if all are of one type, else as the objects they are.

    Strings stay objects: numpy's own would all take the memory of the longest.
    """
    types = {type(value) for value in values}
    return np.asarray(values.tolist()) if len(types) == 1 and types <= {bool, int, float} else values
