"""The columns of a metadata parquet, under our names, a batch of rows at a time."""

from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core import batch
from benchmark.core.arrow import DAMAGE
from benchmark.core.storage import open_file
from benchmark.pool.sample_fields import pick_column

IDENTITY = ("uid", "url", "key", "text", "status")
NSFW = "nsfw"
Record = Mapping[str, pa.Array]


def read_records(
    url: str,
    columns: Mapping[str, str],
    names: tuple[str, ...] | None,
    batch_size: int,
    drops: Counter[str],
    in_place_of_uid: frozenset[str] = frozenset(),
) -> Iterator[Record]:
    """Yield those of our columns `names` that the file has, by our names; all of the file's columns for None.

    Those `in_place_of_uid` are not read from a file that has a uid in each row.
    Of a broken file the pairs that cannot be read are counted in `drops`; the file, if its footer is broken. So are
    all pairs of a file that has none of the columns, or one of them twice.
    """
    left = None  # rows to read
    with open_file(url) as file:
        if file.seek(0, 2) == 0:
            drops[batch.SHARD_EMPTY] += 1
            return
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
            present = _present(parquet, columns, names)
            left = parquet.metadata.num_rows
            if reason := _unusable(parquet, present):
                drops[reason] += left
                return
            for record in _batches(parquet, batch_size, present, in_place_of_uid):
                left -= len(record)
                yield {
                    ours: _plain(record[name])
                    for ours, name in present.items()
                    if name in record.schema.names
                }
        except DAMAGE:
            pass
    if left is None:
        drops[batch.SHARD_CORRUPT] += 1
    elif left > 0:
        drops[batch.PAIR_OF_CORRUPT_SHARD] += left


def _batches(
    parquet: pq.ParquetFile, batch_size: int, present: Mapping[str, str], in_place_of_uid: frozenset[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows, with the columns `in_place_of_uid` from the first batch on that lacks a uid.

    The footer may count missing values, too, but pyarrow ends the process where that part of it is damaged.
    """
    every = sorted(set(present.values()))
    done, uid = 0, present.get("uid")
    if uid is not None:
        others = sorted({name for ours, name in present.items() if ours not in in_place_of_uid})
        for record in parquet.iter_batches(batch_size, columns=others):
            if others != every and record[uid].null_count:
                break
            done += len(record)
            yield record
        else:
            return
    for record in parquet.iter_batches(batch_size, columns=every):
        skipped = min(done, len(record))
        done -= skipped
        if skipped < len(record):
            yield record.slice(skipped)


def _present(
    parquet: pq.ParquetFile, columns: Mapping[str, str], names: tuple[str, ...] | None
) -> dict[str, str]:
    """Return the file's columns by our names; see `read_records`."""
    theirs = parquet.schema_arrow.names
    ours_first = names if names is not None else (*IDENTITY, NSFW, *columns)
    picked = {ours: pick_column(ours, columns, theirs) for ours in ours_first}
    present = {ours: name for ours, name in picked.items() if name is not None}
    if names is None:
        once = {name for name, count in Counter(theirs).items() if count == 1}
        others = once - set(present.values()) - set(present)
        present |= {name: name for name in sorted(others)}
    return present


def _unusable(parquet: pq.ParquetFile, present: Mapping[str, str]) -> str | None:
    """Return why no row of a file can be used, None if some may be."""
    if not present:
        return batch.CAPTION_MISSING
    theirs = Counter(parquet.schema_arrow.names)
    return batch.METADATA_INVALID if any(theirs[name] > 1 for name in present.values()) else None


def _plain(column: pa.Array) -> pa.Array:
    """Return a column of views of strings or bytes as one of strings or bytes: few kernels take views."""
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string())
    return column.cast(pa.large_binary()) if pa.types.is_binary_view(column.type) else column
