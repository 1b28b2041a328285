"""The columns of a metadata parquet, under our names, a batch of rows at a time."""

from collections import Counter
from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core import batch
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
    Of a broken file the pairs that cannot be read are counted in `drops`; the file, if its footer is broken.
    """
    left = None  # rows to read
    with open_file(url) as file:
        if file.seek(0, 2) == 0:
            drops[batch.SHARD_EMPTY] += 1
            return
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
            present = _present(parquet, columns, names)
            if in_place_of_uid and _is_complete(parquet, present.get("uid")):
                present = {ours: name for ours, name in present.items() if ours not in in_place_of_uid}
            left = parquet.metadata.num_rows
            for record in parquet.iter_batches(batch_size, columns=sorted(set(present.values()))):
                left -= len(record)
                yield {ours: record[name] for ours, name in present.items()}
        except (pa.ArrowException, OSError):
            if left is None:
                drops[batch.SHARD_CORRUPT] += 1
            else:
                drops[batch.PAIR_OF_CORRUPT_SHARD] += left


def _present(
    parquet: pq.ParquetFile, columns: Mapping[str, str], names: tuple[str, ...] | None
) -> dict[str, str]:
    """Return the file's columns by our names; see `read_records`."""
    theirs = parquet.schema_arrow.names
    ours_first = names if names is not None else (*IDENTITY, NSFW, *columns)
    picked = {ours: pick_column(ours, columns, theirs) for ours in ours_first}
    present = {ours: name for ours, name in picked.items() if name is not None}
    if names is None:
        others = set(theirs) - set(present.values()) - set(present)
        present |= {name: name for name in sorted(others)}
    return present


def _is_complete(parquet: pq.ParquetFile, column: str | None) -> bool:
    """Tell whether the file has a column, and its statistics count no missing value in it."""
    groups = (parquet.metadata.row_group(number) for number in range(parquet.metadata.num_row_groups))
    chunks = [
        chunk
        for group in groups
        for chunk in map(group.column, range(group.num_columns))
        if chunk.path_in_schema == column
    ]
    statistics = [chunk.statistics for chunk in chunks]
    return column is not None and all(
        of is not None and of.has_null_count and not of.null_count for of in statistics
    )
