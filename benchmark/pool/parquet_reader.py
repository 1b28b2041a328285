"""Samples of a metadata parquet, in batches, without opening a tar."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core import batch
from benchmark.core.batch import Batch, SampleError
from benchmark.pool.sample_fields import check_caption, check_uid, pick_column

_IDENTITY = ("uid", "url", "text", "status")


def read_metadata(
    url: str, columns: Mapping[str, str], wanted: frozenset[str], batch_size: int, drops: Counter[str]
) -> Iterator[Batch]:
    """Yield batches of uids, captions and the `wanted` columns; count unusable rows by reason in `drops`.

    `columns` maps our names to the file's. Memory is bounded by one batch.
    """
    with fsspec.open(url, "rb") as file:
        if file.seek(0, 2) == 0:
            drops[batch.SHARD_EMPTY] += 1
            return
        try:
            parquet = pq.ParquetFile(file)
            names = parquet.schema_arrow.names
            picked = {ours: pick_column(ours, columns, names) for ours in (*_IDENTITY, *wanted)}
            present = {ours: name for ours, name in picked.items() if name is not None}
            for record in parquet.iter_batches(batch_size, columns=sorted(set(present.values()))):
                yield _batch({ours: record[name] for ours, name in present.items()}, wanted, drops)
        except (pa.ArrowException, OSError):
            drops[batch.SHARD_CORRUPT] += 1


def _batch(record: Mapping[str, pa.Array], wanted: frozenset[str], drops: Counter[str]) -> Batch:
    size = len(next(iter(record.values()), ()))
    lists = {name: _values(record[name]) if name in record else [None] * size for name in _IDENTITY}
    rows, uids, texts = [], [], []
    for row, (uid, url, text, status) in enumerate(zip(*(lists[n] for n in _IDENTITY), strict=True)):
        try:
            if status is not None and status != "success":
                raise SampleError(batch.DOWNLOAD_FAILED)
            caption = check_caption(text)
            uids.append(check_uid(uid, url, caption))
        except SampleError as error:
            drops[error.reason] += 1
            continue
        rows.append(row)
        texts.append(caption)
    kept = {name: record[name].take(pa.array(rows, pa.int64())).to_numpy(False) for name in wanted}
    return Batch(uids, texts, columns=kept)


def _values(array: pa.Array) -> list[Any]:
    """Return the values; strings with invalid UTF-8 come back as bytes, for the caption check to find."""
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        return [value.as_py() for value in array.cast(pa.binary())]
