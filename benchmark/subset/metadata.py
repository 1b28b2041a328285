"""The metadata of a subset: rows of the pool's parquet files, or the fields of its tars' JSON."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import from_numpy, from_values
from benchmark.core.output_folder import OutputFolder
from benchmark.core.uids import UidArray, UidIndex
from benchmark.pool.parquet_reader import read_rows
from benchmark.pool.pool import Pool

FOLDER = "metadata"
Row = Mapping[str, Any]
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can name them, and UTF-8 cannot hold them


def copy_metadata(pool: Pool, uids: UidArray, folder: OutputFolder) -> npt.NDArray[np.bool_]:
    """Copy the rows of n distinct `uids` from each metadata parquet of a pool that lists any.

    All columns are copied but those that the pool hides. Of a uid in several rows the first is copied. Returns which
    uids the metadata lists, shape (n,).
    """
    index, listed = UidIndex(uids), np.zeros(len(uids), bool)
    names = folder.names(FOLDER)
    for number, shard in enumerate(pool.metadata):
        tables = _first_rows(read_rows(shard.url, pool.columns, index, pool.hidden, pool.nsfw), listed)
        name = f"{number:08d}.parquet"
        if name in names:  # written by a killed call; read to know which uids it lists
            for _ in tables:
                pass
        else:
            _write_tables(folder, name, tables)
    return listed


def write_rows(folder: OutputFolder, name: str, rows: Sequence[Row]) -> None:
    """Write the fields of samples that no metadata parquet lists; nothing without any."""
    if rows:
        columns = {field: None for row in rows for field in row if field != "caption"} | {"text": None}
        table = {field: _column([row.get(field) for row in rows]) for field in columns}
        table["text"] = _column([row["caption"] for row in rows])
        with folder.write(f"{FOLDER}/{name}.parquet") as path:
            pq.write_table(pa.table(table), path, compression="zstd")


def _first_rows(
    tables: Iterator[tuple[npt.NDArray[np.int64], pa.Table]], listed: npt.NDArray[np.bool_]
) -> Iterator[pa.Table]:
    """Yield the rows of uids that are not yet `listed`, and mark them there."""
    for rows, table in tables:
        first = np.sort(np.unique(rows, return_index=True)[1])
        first = first[~listed[rows[first]]]
        listed[rows[first]] = True
        if len(first):
            yield table.take(from_numpy(first))


def _write_tables(folder: OutputFolder, name: str, tables: Iterator[pa.Table]) -> None:
    first = next(tables, None)
    if first is not None:
        with (
            folder.write(f"{FOLDER}/{name}") as path,
            pq.ParquetWriter(path, first.schema, compression="zstd") as writer,
        ):
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)


def _column(values: list[Any]) -> pa.Array:
    """Return values of JSON as a column; as strings if they are of several types, as fields of the web may be."""
    try:
        column = from_values(values)
        return pa.array(values) if column is None else column
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return pa.array([v if v is None or _is_text(v) else json.dumps(v) for v in values])


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and _SURROGATE.search(value) is None
