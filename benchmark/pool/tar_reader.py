"""Samples of an indexed tar, in batches."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from benchmark.core.batch import IMAGE_UNREADABLE, Batch, SampleError
from benchmark.core.images import decode_image
from benchmark.pool.tar_index import Integers, TarIndex


def read_images(path: Path, index: TarIndex, batch_size: int, drops: Counter[str]) -> Iterator[Batch]:
    """Yield batches with decoded images; unreadable ones are counted in `drops`."""
    with path.open("rb") as file:
        for start in range(0, len(index), batch_size):
            rows, images = [], []
            for row in range(start, min(start + batch_size, len(index))):
                try:
                    images.append(read_image(file, int(index.offsets[row]), int(index.sizes[row])))
                    rows.append(row)
                except SampleError as error:
                    drops[error.reason] += 1
            if rows:
                yield _batch(index, np.array(rows), images)


def read_texts(index: TarIndex, batch_size: int) -> Iterator[Batch]:
    """Yield batches of captions without images."""
    for start in range(0, len(index), batch_size):
        yield _batch(index, np.arange(start, min(start + batch_size, len(index))), [])


def read_image(file: Any, offset: int, size: int) -> Image.Image:
    """Decode the image of `size` bytes at `offset` of an open tar. Raises `SampleError`."""
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
