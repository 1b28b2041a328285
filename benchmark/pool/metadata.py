"""The metadata of a subset: rows of the pool's parquet files, or the fields of its tars' JSON."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from benchmark.core.arrow import from_numpy, from_values
from benchmark.core.output_folder import OutputFolder
from benchmark.core.uids import UidArray, UidIndex, unite_uids
from benchmark.pool.parquet_reader import read_rows
from benchmark.pool.pool import Pool

FOLDER = "metadata"
Row = Mapping[str, Any]
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can name them, and UTF-8 cannot hold them


def copy_metadata(
    pool: Pool, subsets: Sequence[UidArray], folders: Sequence[OutputFolder]
) -> list[npt.NDArray[np.bool_]]:
    """Copy the rows of each subset's uids from each metadata parquet of a pool to the subset's folder.

    All columns are copied but those that the pool hides. Of a uid in several rows the first is copied. Each file is
    read once for all subsets. Returns which uids of each subset the metadata lists, shape (n,).
    """
    if not subsets:
        return []
    distinct = unite_uids(subsets)
    index, listed = UidIndex(distinct), np.zeros(len(distinct), bool)
    rows_of = [index.find(uids) for uids in subsets]
    wanted = [np.zeros(len(distinct), bool) for _ in subsets]
    for mask, rows in zip(wanted, rows_of, strict=True):
        mask[rows] = True
    names = [folder.names(FOLDER) for folder in folders]
    for number, shard in enumerate(pool.metadata):
        name = f"{number:08d}.parquet"
        with ExitStack() as stack:
            # What a killed call has written is read too, to know which uids it lists.
            files = [
                (mask, stack.enter_context(_Tables(folder, name)))
                for mask, folder, written in zip(wanted, folders, names, strict=True)
                if name not in written
            ]
            tables = read_rows(shard.url, pool.columns, index, pool.hidden, pool.nsfw)
            for rows, table in _first_rows(tables, listed):
                for mask, file in files:
                    file.write(table, np.flatnonzero(mask[rows]))
    return [listed[rows] for rows in rows_of]


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
) -> Iterator[tuple[npt.NDArray[np.int64], pa.Table]]:
    """Yield the rows of uids that are not yet `listed`, and mark them there."""
    for rows, table in tables:
        first = np.sort(np.unique(rows, return_index=True)[1])
        first = first[~listed[rows[first]]]
        listed[rows[first]] = True
        yield rows[first], table.take(from_numpy(first))


class _Tables(ExitStack):
    """A parquet file that is written table by table; without any row it is not written."""

    def __init__(self, folder: OutputFolder, name: str) -> None:
        super().__init__()
        self._folder, self._name = folder, f"{FOLDER}/{name}"
        self._writer: pq.ParquetWriter | None = None

    def write(self, table: pa.Table, rows: npt.NDArray[np.int64]) -> None:
        """Write some rows of a table."""
        if not len(rows):
            return
        if self._writer is None:
            path = self.enter_context(self._folder.write(self._name))
            self._writer = self.enter_context(pq.ParquetWriter(path, table.schema, compression="zstd"))
        self._writer.write_table(table.take(from_numpy(rows)))


def _column(values: list[Any]) -> pa.Array:
    """Return values of JSON as a column; as strings if they are of several types, as fields of the web may be."""
    try:
        column = from_values(values)
        return pa.array(values) if column is None else column
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return pa.array([v if v is None or _is_text(v) else json.dumps(v) for v in values])


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and _SURROGATE.search(value) is None
