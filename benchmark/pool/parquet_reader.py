"""Samples of a metadata parquet, in batches, without opening a tar."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark.core import batch
from benchmark.core.batch import Batch, SampleError
from benchmark.core.storage import open_file
from benchmark.core.uids import UidArray, UidIndex, decode_uids, encode_uid_column, encode_uids
from benchmark.pool.sample_fields import check_caption, check_uid, pick_column

_IDENTITY = ("uid", "url", "key", "text", "status")
_NSFW = "nsfw"
_LOOKUP_ROWS = 65536  # rows that are searched at a time for the captions of given uids
_Record = Mapping[str, pa.Array]
_Rows = npt.NDArray[np.int64]


def read_metadata(
    url: str,
    columns: Mapping[str, str],
    extra_columns: frozenset[str],
    batch_size: int,
    drops: Counter[str],
    nsfw: Sequence[str] = (),
) -> Iterator[Batch]:
    """Yield batches of uids, captions and the `extra_columns` columns; count unusable rows by reason in `drops`.

    `columns` maps our names to the file's; `nsfw` are the values of that column that are kept, () for all. Memory is
    bounded by one batch.
    """
    names = (*_IDENTITY, *extra_columns, *((_NSFW,) if nsfw else ()))
    for record in _records(url, columns, names, batch_size, drops):
        yield _batch(record, extra_columns, drops, nsfw)


def read_captions(url: str, columns: Mapping[str, str], uids: UidIndex) -> Iterator[tuple[_Rows, list[str]]]:
    """Yield the usable captions of those `uids` that the file lists, with the row of each in `uids`.

    A file without uids yields nothing: its uids are hashes of url and caption, so no other caption has them.
    """
    for rows, values in _values_of(url, columns, ("text",), uids):
        usable, captions = _captions(values["text"], Counter())
        yield rows[usable], captions


def read_numbers(
    url: str, columns: Mapping[str, str], names: tuple[str, ...], uids: UidIndex
) -> Iterator[tuple[_Rows, npt.NDArray[np.float64]]]:
    """Yield the numbers in the columns `names`, shape (n, len(names)), of n of the `uids`, with their rows in `uids`.

    NaN stands for a missing number, for a column that the file lacks, and for one of another type.
    """
    for rows, values in _values_of(url, columns, names, uids):
        numbers = np.full((len(rows), len(names)), np.nan)
        for position, name in enumerate(names):
            column = values.get(name)
            if column is not None and (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
                numbers[:, position] = pc.cast(column, pa.float64(), safe=False).to_numpy(False)
        yield rows, numbers


def read_rows(
    url: str, columns: Mapping[str, str], uids: UidIndex, hidden: frozenset[str], nsfw: Sequence[str]
) -> Iterator[tuple[_Rows, pa.Table]]:
    """Yield the usable rows of those `uids` that the file lists, and their rows in `uids`.

    The tables have all columns but `hidden`, under our names where we have one; ``uid`` and ``text`` always.
    """
    for record in _records(url, columns, None, _LOOKUP_ROWS, Counter()):
        usable, given, texts = _usable(record, Counter(), nsfw)
        rows = uids.find(given)
        hits = np.flatnonzero(rows >= 0)
        taken = pa.array(usable[hits])
        table = {name: column.take(taken) for name, column in record.items() if name not in hidden}
        table |= {"uid": pa.array(decode_uids(given[hits])), "text": pa.array([texts[hit] for hit in hits])}
        yield rows[hits], pa.table(table)


def _values_of(
    url: str, columns: Mapping[str, str], names: tuple[str, ...], uids: UidIndex
) -> Iterator[tuple[_Rows, _Record]]:
    """Yield the columns among `names` that the file has, for the `uids` that it lists, and their rows in `uids`."""
    for record in _records(url, columns, ("uid", *names), _LOOKUP_ROWS, Counter()):
        if "uid" not in record or len(record) < 2:
            return
        listed, given = listed_uids(record["uid"])
        rows = uids.find(given)
        hits = rows >= 0
        taken = pa.array(listed[hits])
        yield rows[hits], {name: record[name].take(taken) for name in names if name in record}


def listed_uids(column: pa.Array) -> tuple[_Rows, UidArray]:
    """Return the rows of a column of hex strings whose uid is well-formed, and these uids."""
    if column.type not in (pa.string(), pa.large_string()):
        return np.empty(0, np.int64), encode_uids([])
    # As bytes: one string that is not valid UTF-8 costs its own row alone.
    column = column.cast(pa.large_binary())
    well_formed = pc.fill_null(pc.match_substring_regex(column, "^[0-9a-fA-F]{32}$"), False)
    uids = encode_uid_column(pa.chunked_array([column.filter(well_formed).cast(pa.string())]))
    return np.flatnonzero(well_formed.to_numpy(False)), uids


def _records(
    url: str, columns: Mapping[str, str], names: tuple[str, ...] | None, batch_size: int, drops: Counter[str]
) -> Iterator[_Record]:
    """Yield those of our columns `names` that the file has, by our names; all of the file's columns for None.

    Of a broken file the pairs that cannot be read are counted in `drops`; the file, if its footer is broken.
    """
    left = None  # rows to read
    with open_file(url) as file:
        if file.seek(0, 2) == 0:
            drops[batch.SHARD_EMPTY] += 1
            return
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
            theirs = parquet.schema_arrow.names
            ours_first = names if names is not None else (*_IDENTITY, _NSFW, *columns)
            picked = {ours: pick_column(ours, columns, theirs) for ours in ours_first}
            present = {ours: name for ours, name in picked.items() if name is not None}
            if names is None:
                others = set(theirs) - set(present.values()) - set(present)
                present |= {name: name for name in sorted(others)}
            left = parquet.metadata.num_rows
            for record in parquet.iter_batches(batch_size, columns=sorted(set(present.values()))):
                left -= len(record)
                yield {ours: record[name] for ours, name in present.items()}
        except (pa.ArrowException, OSError):
            if left is None:
                drops[batch.SHARD_CORRUPT] += 1
            else:
                drops[batch.PAIR_OF_CORRUPT_SHARD] += left


def _batch(record: _Record, extra_columns: frozenset[str], drops: Counter[str], nsfw: Sequence[str]) -> Batch:
    rows, uids, texts = _usable(record, drops, nsfw)
    size = _length(record)
    # A file may lack a column that others of the pool have.
    kept = {name: _to_numpy(record.get(name, pa.nulls(size)).take(pa.array(rows))) for name in extra_columns}
    return Batch(uids, texts, columns=kept)


def _usable(record: _Record, drops: Counter[str], nsfw: Sequence[str]) -> tuple[_Rows, UidArray, list[str]]:
    """Return the n usable rows of a record, their uids and their captions; count the others by reason."""
    size = _length(record)
    columns = {name: record.get(name, pa.nulls(size)) for name in (*_IDENTITY, _NSFW)}
    rows = _downloaded(columns["status"], drops)
    if nsfw:
        safe = _is_in(columns[_NSFW], nsfw)[rows]
        drops[batch.NSFW] += int((~safe).sum())
        rows = rows[safe]
    usable, texts = _captions(columns["text"].take(pa.array(rows)), drops)
    rows = rows[usable]
    uid, url, key = (columns[name].take(pa.array(rows)) for name in ("uid", "url", "key"))
    usable, uids = _uids(uid, url, key, texts, drops)
    if len(usable) < len(rows):
        rows, texts = rows[usable], [texts[row] for row in usable]
    return rows, uids, texts


def _length(record: _Record) -> int:
    return len(next(iter(record.values()), ()))


def _downloaded(status: pa.Array, drops: Counter[str]) -> _Rows:
    """Return the rows whose download did not fail; without a status none did."""
    failed = np.array([value is not None and value != "success" for value in _values(status)], bool)
    if failed.any():
        drops[batch.DOWNLOAD_FAILED] += int(failed.sum())
    return np.flatnonzero(~failed)


def _is_in(column: pa.Array, values: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return where a column of strings has one of the `values`, shape (n,); a missing value is none of them."""
    mask: npt.NDArray[np.bool_] = pc.is_in(column.cast(pa.string()), pa.array(values, pa.string())).to_numpy(
        False
    )
    return mask


def _captions(column: pa.Array, drops: Counter[str]) -> tuple[_Rows, list[str]]:
    """Return the rows of `column` with a usable caption, and the captions."""
    values = _values(column)
    if all(type(value) is str for value in values) and all(map(str.strip, values)):
        return np.arange(len(values)), values
    return _checked(len(values), lambda row: check_caption(values[row]), drops)


def _uids(
    column: pa.Array, urls: pa.Array, keys: pa.Array, captions: list[str], drops: Counter[str]
) -> tuple[_Rows, UidArray]:
    """Return the rows with a usable uid, and the uids; a missing one is made, see `check_uid`."""
    rows, uids = listed_uids(column)
    if len(rows) == len(column):
        return rows, uids
    parts = list(zip(_values(column), _values(urls), _values(keys), captions, strict=True))
    rows, names = _checked(len(parts), lambda row: check_uid(*parts[row]), drops)
    return rows, encode_uids(names)


def _checked(count: int, check: Callable[[int], str], drops: Counter[str]) -> tuple[_Rows, list[str]]:
    """Return the rows of `count` that pass the check, and what it returned; count the others by reason."""
    rows, values = [], []
    for row in range(count):
        try:
            values.append(check(row))
        except SampleError as error:
            drops[error.reason] += 1
        else:
            rows.append(row)
    return np.array(rows, np.int64), values


def _to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """Return the values; strings with invalid UTF-8 come back as bytes."""
    try:
        values: npt.NDArray[Any] = array.to_numpy(False)
    except pa.ArrowException:
        values = array.cast(pa.binary()).to_numpy(False)
    return values


def _values(array: pa.Array) -> list[Any]:
    """Return the values; strings with invalid UTF-8 come back as bytes, for the caption check to find."""
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        return [value.as_py() for value in array.cast(pa.binary())]
