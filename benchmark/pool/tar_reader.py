"""Samples of an indexed tar, in batches; the index itself as a parquet file."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from benchmark.core.batch import IMAGE_UNREADABLE, Batch, SampleError
from benchmark.core.images import decode_image
from benchmark.core.paths import atomic_write
from benchmark.pool.tar_index import TarIndex


def read_images(path: Path, index: TarIndex, batch_size: int, drops: Counter[str]) -> Iterator[Batch]:
    """Yield batches with decoded images; unreadable ones are counted in `drops`."""
    with path.open("rb") as file:
        for start in range(0, len(index.uids), batch_size):
            rows, images = [], []
            for row in range(start, min(start + batch_size, len(index.uids))):
                try:
                    images.append(read_image(file, index.offsets[row], index.sizes[row]))
                    rows.append(row)
                except SampleError as error:
                    drops[error.reason] += 1
            if rows:
                yield _batch(index, rows, images)


def read_texts(index: TarIndex, batch_size: int) -> Iterator[Batch]:
    """Yield batches of captions without images."""
    for start in range(0, len(index.uids), batch_size):
        yield _batch(index, list(range(start, min(start + batch_size, len(index.uids)))), [])


def read_image(file: Any, offset: int, size: int) -> Image.Image:
    """Decode the image that lies at `offset` of an open tar. Raises `SampleError`."""
    file.seek(offset)
    data = file.read(size)
    if len(data) < size:
        raise SampleError(IMAGE_UNREADABLE)
    return decode_image(data)


def _batch(index: TarIndex, rows: list[int], images: list[Image.Image]) -> Batch:
    columns: dict[str, npt.NDArray[Any]] = {}
    if index.metadata:
        for name in index.metadata[0]:
            columns[name] = np.asarray([index.metadata[row][name] for row in rows])
    return Batch([index.uids[r] for r in rows], [index.texts[r] for r in rows], images, columns)


def save_index(path: Path, index: TarIndex) -> None:
    """Write an index to a parquet file."""
    columns = {"uid": index.uids, "text": index.texts, "offset": index.offsets, "size": index.sizes}
    table = pa.table(columns, schema=_SCHEMA.with_metadata({"drops": json.dumps(index.drops)}))
    with atomic_write(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def load_index(path: Path) -> TarIndex:
    """Read an index that `save_index` wrote."""
    table = pq.read_table(path)
    uids, texts, offsets, sizes = (table[name].to_pylist() for name in _SCHEMA.names)
    drops = Counter[str](json.loads(table.schema.metadata[b"drops"]))
    return TarIndex(uids, texts, offsets, sizes, drops=drops)


_SCHEMA = pa.schema(
    [("uid", pa.string()), ("text", pa.string()), ("offset", pa.int64()), ("size", pa.int64())]
)
