"""Samples of a metadata parquet, in batches, without opening a tar."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmark.core import batch
from benchmark.core.arrow import DAMAGE, from_numpy, from_strings, to_mask, to_numpy
from benchmark.core.batch import Batch
from benchmark.core.exact_numbers import MAX_INTEGER
from benchmark.core.storage import open_file
from benchmark.core.uids import (
    UUID,
    UidArray,
    UidIndex,
    decode_uids,
    encode_uid_column,
    encode_uids,
    is_bytes_of_uids,
    make_uids,
)
from benchmark.pool.sample_fields import (
    ALL_CAPTIONS,
    as_text,
    check_uid,
    checked,
    holds_bytes,
    is_list,
    is_text,
    pick_column,
    row_keys,
    usable_captions,
    values_of,
    without_views,
)

IDENTITY = ("uid", "url", "key", "text", "status")
NSFW = "nsfw"
_IN_PLACE_OF_UID = frozenset({"url", "key"})
_LOOKUP_ROWS = 65536  # rows that are searched at a time for the captions of given uids
MAX_BATCH_BYTES = 1 << 26  # of one column in a batch, decoded; Python's text takes up to four times that
_Rows = npt.NDArray[np.int64]
Record = Mapping[str, pa.Array]


def read_metadata(
    url: str,
    columns: Mapping[str, str],
    extra_columns: frozenset[str],
    batch_size: int,
    drops: Counter[str],
    nsfw: Sequence[str] = (),
    texts: bool = True,
    by_row: bool = False,
) -> Iterator[Batch]:
    """Yield batches of uids, captions and the `extra_columns` columns; count unusable rows by reason in `drops`.

    `columns` maps our names to the file's; `nsfw` are the values of that column that are kept, () for all. Without
    `texts` captions are only checked: the batches hold none. `by_row`: see `read_records`. One batch is held.
    """
    names = (*IDENTITY, *extra_columns, *((NSFW,) if nsfw else ()))
    in_place = _IN_PLACE_OF_UID - extra_columns
    for record in read_records(url, columns, names, batch_size, drops, in_place, by_row=by_row):
        rows, uids, captions = _usable(record, drops, nsfw)
        absent = pa.nulls(_length(record))  # a file may lack a column that others of the pool have
        kept = {name: _column(_at(record.get(name, absent), rows)) for name in extra_columns}
        yield Batch(uids, captions.to_pylist() if texts else [], columns=kept)


def read_rows(
    url: str,
    columns: Mapping[str, str],
    uids: UidIndex,
    hidden: frozenset[str],
    nsfw: Sequence[str],
    by_row: bool,
) -> Iterator[tuple[_Rows, pa.Table]]:
    """Yield the usable rows of those `uids` that the file lists, and their rows in `uids`.

    The tables have all columns but `hidden`, under our names where we have one; ``uid`` and ``text`` always. For
    `by_row` see `read_records`.
    """
    for record in read_records(url, columns, None, _LOOKUP_ROWS, Counter(), by_row=by_row):
        usable, given, captions = _usable(record, Counter(), nsfw)
        rows = uids.find(given)
        hits = np.flatnonzero(rows >= 0)
        taken = from_numpy(usable[hits])
        table = {name: column.take(taken) for name, column in record.items() if name not in hidden}
        uids_of_hits = [uid.encode() for uid in decode_uids(given[hits])]
        table["uid"] = from_strings(uids_of_hits, pa.large_string()).cast(pa.string())
        table["text"] = _at(captions, hits).cast(pa.string())
        yield rows[hits], pa.table(table)


def listed_uids(column: pa.Array) -> tuple[_Rows, UidArray]:
    """Return the rows of a column with a well-formed uid, and these uids; see `encode_uid_column`."""
    if is_bytes_of_uids(column):
        well_formed = column.is_valid()
    elif is_text(column.type):
        try:
            return np.arange(len(column)), encode_uid_column(pa.chunked_array([column]))
        except ValueError:  # not all of them are
            pass
        # As bytes: a string that is not valid UTF-8 costs only its own row.
        column = pc.replace_substring_regex(column.cast(pa.large_binary()), f"^{UUID}$", r"\1\2\3\4\5")
        well_formed = pc.fill_null(pc.match_substring_regex(column, "^[0-9a-fA-F]{32}$"), False)
    else:
        return np.empty(0, np.int64), encode_uids([])
    uids = encode_uid_column(pa.chunked_array([column.filter(well_formed)]))
    return np.flatnonzero(to_mask(well_formed)), uids


def _usable(
    record: Record, drops: Counter[str], nsfw: Sequence[str]
) -> tuple[_Rows, UidArray, pa.LargeStringArray]:
    """Return the n usable rows of a record, their uids and their captions; count the others by reason."""
    size = _length(record)
    columns = {name: record.get(name, pa.nulls(size)) for name in (*IDENTITY, NSFW)}
    rows = downloaded(columns["status"], drops)
    if nsfw:
        safe = _is_in(columns[NSFW], nsfw)[rows]
        drops[batch.NSFW] += int((~safe).sum())
        rows = rows[safe]
    usable, captions = usable_captions(_at(columns["text"], rows), drops)
    rows = rows[usable]
    uid, url, key = (_at(columns[name], rows) for name in ("uid", "url", "key"))
    usable, uids = _uids(uid, url, key, captions, drops)
    return rows[usable], uids, _at(captions, usable)


def _length(record: Record) -> int:
    return len(next(iter(record.values()), ()))


def _at(column: pa.Array, rows: _Rows) -> pa.Array:
    """Return the ascending `rows` of a column; the column itself where these are all."""
    return column if len(rows) == len(column) else column.take(from_numpy(rows))


def downloaded(status: pa.Array, drops: Counter[str]) -> _Rows:
    """Return the rows without a failed download; without a status no download failed."""
    if pa.types.is_dictionary(status.type):
        status = status.dictionary_decode()
    failed = status.is_valid()
    if is_text(status.type):
        failed = pc.and_(failed, pc.fill_null(pc.not_equal(status, "success"), False))
    mask = to_mask(failed)
    if mask.any():
        drops[batch.DOWNLOAD_FAILED] += int(mask.sum())
    return np.flatnonzero(~mask)


def _is_in(column: pa.Array, values: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return whether each string of a column is one of the `values`, shape (n,); False for other types."""
    try:
        return to_mask(pc.is_in(column.cast(pa.string()), pa.array(values, pa.string())))
    except pa.ArrowException:  # of another type, or not all valid UTF-8
        known = {*values, *(value.encode() for value in values)}
        return np.array([isinstance(v, str | bytes) and v in known for v in values_of(column)], bool)


def _uids(
    column: pa.Array, urls: pa.Array, keys: pa.Array, captions: pa.LargeStringArray, drops: Counter[str]
) -> tuple[_Rows, UidArray]:
    """Return the rows with a usable uid, and the uids; a missing one is made, see `check_uid`."""
    listed, given = listed_uids(column)
    if len(listed) == len(column):
        return listed, given
    others = np.delete(np.arange(len(column)), listed)
    made, uids = _made_uids([_at(values, others) for values in (column, urls, keys, captions)], drops)
    rows = np.concatenate([listed, others[made]])
    order = np.argsort(rows)
    return rows[order], np.concatenate([given, uids])[order]


def _made_uids(columns: Sequence[pa.Array], drops: Counter[str]) -> tuple[_Rows, UidArray]:
    """Return which rows get a uid, and these, from uids that are not well-formed, urls, keys and captions."""
    column, urls, _, captions = columns
    texts = as_text(urls) if column.null_count == len(column) and is_text(urls.type) else None
    if texts is not None and not texts.null_count and pc.min(pc.binary_length(texts)).as_py():
        joined = pc.binary_join_element_wise(texts, captions, pa.scalar("\n", pa.large_string()))
        return np.arange(len(column)), make_uids(joined.cast(pa.large_binary()).to_pylist())
    parts = list(zip(*map(values_of, columns), strict=True))
    made, names = checked(len(parts), lambda row: check_uid(*parts[row]), drops)
    return made, encode_uids(names)


def _column(array: pa.Array) -> npt.NDArray[Any]:
    """Return the values of a column; strings with invalid UTF-8 come back as bytes.

    If numpy lacks the type, each value is the name of the type, for the error of a filter that wants numbers.
    """
    if array.null_count and array.type in (pa.float32(), pa.float64()):
        array = array.fill_null(np.nan)
    if not array.null_count and (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return to_numpy(array)
    try:
        if pa.types.is_integer(array.type):
            bounds = pc.min_max(array).as_py().values()
            if any(bound is not None and abs(bound) > MAX_INTEGER for bound in bounds):
                return np.array(array.to_pylist(), object)  # numpy's floats would round them
        values: npt.NDArray[Any] = array.to_numpy(False)
    except (pa.ArrowException, ValueError, OverflowError):
        if not is_text(array.type.value_type if is_list(array.type) else array.type):
            return np.full(len(array), str(array.type), object)
        values = array.cast(pa.list_(pa.binary()) if is_list(array.type) else pa.binary()).to_numpy(False)
    return values


def read_records(
    url: str,
    columns: Mapping[str, str],
    names: tuple[str, ...] | None,
    batch_size: int,
    drops: Counter[str],
    in_place_of_uid: frozenset[str] = frozenset(),
    *,
    by_row: bool = False,
) -> Iterator[Record]:
    """Yield the columns `names` that the file has, by our names; all of the file's columns for None.

    The columns `in_place_of_uid` are not read from a file that has a uid in each row. `drops` counts the pairs of a
    broken file that cannot be read, the file itself if its footer is broken, and all pairs of a file that has none of
    the columns, or one of them twice.

    `by_row` is for files with images inside: rows without a key get their `row_keys`, and no column of bytes is read
    unless it is named.
    """
    left = None  # rows to read
    with open_file(url) as file:
        if file.seek(0, 2) == 0:
            drops[batch.SHARD_EMPTY] += 1
            return
        try:
            parquet = pq.ParquetFile(file, page_checksum_verification=True)
            present = _present(parquet, columns, names, by_row)
            left = rows_in_file = parquet.metadata.num_rows
            names_there = Counter(parquet.schema_arrow.names)
            if any(names_there[name] > 1 for name in present.values()) or not present:
                drops[batch.METADATA_INVALID if present else batch.CAPTION_MISSING] += left
                return
            rows = _safe_rows(file, parquet, set(present.values()), batch_size)
            for record in _batches(parquet, rows, present, in_place_of_uid):
                first_row = rows_in_file - left
                left -= len(record)
                names_here = set(record.schema.names)
                there = {o: without_views(record[name]) for o, name in present.items() if name in names_here}
                if is_list(there.get("text", pa.nulls(0)).type):
                    first = pc.list_slice(there["text"], 0, 1, return_fixed_size_list=True)
                    there["text"] = pc.list_element(first, 0)
                if by_row and ("uid" not in there or there["uid"].null_count):
                    keys = values_of(there["key"]) if "key" in there else [None] * len(record)
                    encoded = [key.encode() for key in row_keys(url, first_row, keys)]
                    there["key"] = from_strings(encoded, pa.large_string())
                yield there
        except DAMAGE:
            pass
    if left is None:
        drops[batch.SHARD_CORRUPT] += 1
    elif left > 0:
        drops[batch.PAIR_OF_CORRUPT_SHARD] += left


def _safe_rows(file: BinaryIO, parquet: pq.ParquetFile, names: Collection[str], batch_size: int) -> int:
    """Return how many rows a batch may have, at most `batch_size`, for texts of at most `MAX_BATCH_BYTES` per column.

    A caption of a megabyte takes a megabyte in the file if all rows have it: the dictionary of the row group holds it
    once. Sizes in the footer are not asked for, as pyarrow ends the process if some of them are damaged.
    """
    kinds = {name: parquet.schema_arrow.field(name).type for name in names}
    texts = [name for name, kind in kinds.items() if is_text(kind.value_type if is_list(kind) else kind)]
    if not texts:
        return batch_size
    paths = [parquet.schema.column(number).path for number in range(len(parquet.schema))]
    leaves = [path for path in paths if any(path == name or path.startswith(f"{name}.") for name in texts)]
    dictionaries = pq.ParquetFile(file, read_dictionary=leaves, buffer_size=_LOOKUP_ROWS, pre_buffer=False)
    longest = 1
    for group in range(parquet.num_row_groups):
        with suppress(*DAMAGE):  # counted when its rows are read
            for first in dictionaries.iter_batches(1, row_groups=[group], columns=texts):
                for column in first.columns:
                    values = column.flatten() if is_list(column.type) else column
                    longest = max(longest, pc.max(pc.binary_length(values.dictionary)).as_py() or 0)
                break
    return max(1, min(batch_size, MAX_BATCH_BYTES // longest))


def _batches(
    parquet: pq.ParquetFile, batch_size: int, present: Mapping[str, str], in_place_of_uid: frozenset[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows, with the columns `in_place_of_uid` from the first batch on that lacks a uid.

    The footer may count missing values, too, but pyarrow ends the process if that part of it is damaged.
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
    parquet: pq.ParquetFile, columns: Mapping[str, str], names: tuple[str, ...] | None, by_row: bool
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
        if by_row:
            named = {name for ours, name in present.items() if ours in IDENTITY}
            files = {field.name for field in parquet.schema_arrow if holds_bytes(field.type)} - named
            present = {ours: name for ours, name in present.items() if name not in files}
        if (name := present.get("text", "")) in once and is_list(parquet.schema_arrow.field(name).type):
            present.setdefault(ALL_CAPTIONS, name)
    return present
