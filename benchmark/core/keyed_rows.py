"""Rows keyed by pair, as others publish them: scores, tags and lists of pairs, in any number of files, streamed.

The key of a row is one of these, and always becomes 128 bits:

- ``uid``: DataComp's, 32 hex characters, a UUID or 16 bytes; in ``.npy`` files and our own score parts two words.
- ``url``: BLAKE2b of the url's UTF-8, without white space around it. img2dataset requests and records a url as its
  list has it: it neither decodes nor encodes it, nor changes its case or order. So nothing else is normalised, and
  ``http://x/a`` and ``http://x/a/`` are two.
- ``hash``: LAION's column of that name, the first half of MurmurHash3 (x64, 128 bits, seed 0) of url + caption.
- ``caption``: BLAKE2b of its beginning, see `model_text`.
- ``md5``, ``sha256`` of the file that was downloaded, and ``domain``: BLAKE2b of them in lower case.
- ``key``: webdataset's. Every download of a pool has the same numbers, so it counts only if a setting names it.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from io import StringIO
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from benchmark.core.arrow import DAMAGE, to_mask, to_numpy
from benchmark.core.batch import MAX_CHARACTERS, Batch
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.exact_numbers import MAX_INTEGER, numeric_scores
from benchmark.core.extras import require
from benchmark.core.fetched_files import fetch_files
from benchmark.core.fingerprints import content_hash, file_version
from benchmark.core.hashes import hash_text
from benchmark.core.paths import cache_folder, refuse_pointers, user_path, write_text
from benchmark.core.prefetch import made_ahead
from benchmark.core.storage import (
    Entry,
    download,
    file_name,
    find_file,
    is_remote,
    list_files,
    open_file,
)
from benchmark.core.uids import (
    UID_COLUMNS,
    UID_DTYPE,
    UidArray,
    UidIndex,
    decode_uid,
    encode_uid_column,
    make_uids,
    map_uids,
    read_uid,
    read_uid_columns,
)

Kind = Literal["uid", "url", "hash", "caption", "md5", "sha256", "domain", "key"]
KINDS: tuple[Kind, ...] = get_args(Kind)
URL_HASH = "url_hash"  # of published scores: the key itself
# The columns that hold each kind of key. The first kind that a file has counts; ``key`` must be asked for.
COLUMNS: dict[Kind, tuple[str, ...]] = {
    "uid": ("uid",),
    "url": ("url", "URL", "image_url", URL_HASH),
    "hash": ("hash",),
    "caption": ("caption", "text", "TEXT"),
    "md5": ("md5",),
    "sha256": ("sha256",),
    "domain": ("domain",),
    "key": ("key", "__key__"),
}
NEEDS: dict[Kind, frozenset[str]] = {
    "uid": frozenset(),
    "url": frozenset({"url"}),
    "hash": frozenset({"url", "text"}),
    "md5": frozenset({"md5"}),
    "sha256": frozenset({"sha256"}),
    "domain": frozenset({"url"}),
    "caption": frozenset({"text"}),
    "key": frozenset({"key"}),
}
# What the keys of a list look like, so that a line of another kind is not taken for a key that no pair has.
PATTERNS = {"md5": "^[0-9a-f]{32}$", "sha256": "^[0-9a-f]{64}$", "domain": r"^[^\s/:@]+\.[^\s/:@]+$"}
FORMATS = (".parquet", ".csv", ".npy", ".txt")
FORMATS_IN_WORDS = ".parquet, .csv (or .csv.gz), .npy or .txt"
COMPLETE = "complete"  # file of a folder of copies that has all
DEPTH = 3  # folders that are searched below a given one
ROWS = 1 << 20  # in a batch
_NEAR = np.uint64(64 - 27)  # bits of a key's first word that are not looked at first
_MISSING = r"(?i)^(#?n/?a|#N/A N/A|-?1\.#(ind|qnan)|-?nan|null|)$"  # in a CSV file
_TRUTH = "(?i)^(true|false)$"
_MULTILINE = pa.csv.ParseOptions(newlines_in_values=True)
_BLOCKS = pa.csv.ReadOptions(block_size=1 << 23)  # bytes; a line must fit into one
Values = npt.NDArray[np.float64]  # (n, columns)


@dataclass(frozen=True)
class Matched:
    """What the rows say of m keys: their values (m, columns), NaN without any, and whether they are `listed` (m,)."""

    index: UidIndex  # of the m keys
    values: Values
    listed: npt.NDArray[np.bool_]
    rows: int  # in all files
    known: int  # rows with one of the m keys
    first: str  # the key in the first row


class KeyedRows:
    """The rows of files, of folders, of patterns with ``*``, on this machine, the hub (``hf://``) or any fsspec URL.

    Args:
        setting: name of the setting, for messages.
        source: path, URL or pattern, or several. The files are all parquet, CSV (or CSV by gzip), text with a key per
            line, or DataComp's ``.npy`` of ``u8,u8``, sorted or not.
        key: kind of key; by default the first of uid, url, hash and caption that the files have.
    """

    def __init__(self, setting: str, source: str | Sequence[str], key: Kind | None = None) -> None:
        self.sources = [source] if isinstance(source, str) else [str(part) for part in source]
        self._setting, self._key = setting, key
        self._name = f"{setting}={', '.join(self.sources)}"
        if key is not None and key not in KINDS:
            raise UserError(f"key={key} of {setting} must be one of {', '.join(KINDS)}")

    @cached_property
    def files(self) -> list[Entry]:
        """The files, each once, in the order of their names. Raises `UserError` without any, or for a mixture."""
        if (self.copies / COMPLETE).is_file():
            copied = (path for path in sorted(self.copies.iterdir()) if _format(path.name))
            files = [Entry(f"file://{path}", False, path.stat().st_size, None) for path in copied]
        else:
            listed = {file.url: file for source in self.sources for file in self._list(source)}
            files = [listed[url] for url in sorted(listed)]
        formats = sorted({_format(file.url) for file in files})
        if len(formats) > 1:
            raise UserError(
                f"{self._name} must be files of one format, not {', '.join(formats)}; give a pattern such as"
                f" *{formats[0]}"
            )
        if empty := [file for file in files if file.size == 0]:
            raise UserError(
                f"{_shown(empty[0].url)} is empty: it has no bytes; write it again, or move it elsewhere"
            )
        refuse_pointers(_path(file) for file in files if not is_remote(file.url))
        return files

    @property
    def copies(self) -> Path:
        """The folder of the cache that `fetch` copies remote files to."""
        return cache_folder("data", "rows", hash_text(" ".join(self.sources), 16))

    def fetch(self) -> None:
        """Copy the files into the cache, and read these from now on. An interrupted copy continues."""
        names = {
            self.copies / f"{n:05d}-{file_name(file.url)}": file.url for n, file in enumerate(self.files)
        }
        fetch_files(names)
        write_text(self.copies / COMPLETE, "\n".join(self.sources))
        del self.files

    def identity(self) -> str:
        """Return a hash of the content of local files, and of the URLs, sizes and versions of remote ones."""
        versions = ((file, file_version(file)) for file in self.files)
        known = [v if is_remote(file.url) else content_hash(_path(file), v) for file, v in versions]
        return hash_text(" ".join(sorted(known)))

    @cached_property
    def _columns(self) -> list[str]:
        """The names of the columns of the first file; of an array or text the kind of its keys."""
        first, form = self.files[0], _format(self.files[0].url)
        with _explained(first.url):
            if form == ".parquet":
                with open_file(first.url) as file:
                    return list(pq.read_schema(file).names)
            if form == ".npy":
                return ["uid"]
            with _open_text(first.url) as stream:
                start = stream.read(1 << 16).decode(errors="replace").removeprefix("\ufeff").lstrip("\r\n")
        if form == ".csv":
            try:
                return next(csv.reader(StringIO(start)), [])
            except csv.Error as error:
                raise UserError(f"{_shown(first.url)} cannot be read: {error}") from None
        return [self._key or _kind_of_line(start.partition("\n")[0].strip()) or "uid"]

    @cached_property
    def kind(self) -> Kind:
        """The kind of key. Raises `UserError` if the first file has none."""
        kinds = [kind for kind in KINDS if kind != "key"] if self._key is None else [self._key]
        for kind in kinds:
            if {*COLUMNS[kind]} & {*self._columns} or (kind == "uid" and {*UID_COLUMNS} <= {*self._columns}):
                return kind
        wanted = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else COLUMNS[kinds[0]][0]
        held = " ".join(", ".join(self._columns).split())[:500]
        raise UserError(f"{self._name} must have a column {wanted} as the key; its columns are {held}")

    @property
    def needs(self) -> frozenset[str]:
        """The fields of a pool's samples that `keys_of` reads. Raises `UserError` if a hash lacks its extra."""
        kind = self._key or self.kind
        if kind == "hash":
            require("laion")
        return NEEDS[kind]

    @property
    def columns(self) -> list[str]:
        """The columns of the first file except its keys."""
        keys = {*COLUMNS[self.kind], *UID_COLUMNS}
        return [name for name in self._columns if name not in keys]

    def check(self, columns: Sequence[str] = (), setting: str = "") -> list[Entry]:
        """Return the files. Raises `UserError` unless the first has a key and the `columns` of a `setting`."""
        for name in [*columns, self._key_columns()[0]]:
            if (count := self._columns.count(name)) > 1:
                raise UserError(f"{_shown(self.files[0].url)} must have one column {name}, not {count}")
            if not count:
                hint = " ".join(did_you_mean(name, self.columns).split())
                raise UserError(f"{setting}={name} is not in {self._name}; {hint}")
        return self.files

    def keys_of(self, batch: Batch) -> UidArray:
        """Return the keys of a pool's n pairs, shape (n,); of a pair without url or text a key that no row has."""
        if self.kind == "uid":
            return batch.uids
        if self.kind == "caption":
            return make_uids(text[:MAX_CHARACTERS].encode(errors="surrogatepass") for text in batch.texts)
        column = self.kind if self.kind in ("key", "md5", "sha256") else "url"
        values = list(map(_bytes, batch.columns[column]))
        if self.kind in PATTERNS:
            return make_uids(value.lower() for value in values)
        if self.kind != "hash":
            return make_uids(values)
        texts = [text.encode(errors="surrogatepass") for text in batch.texts]
        import mmh3

        hashes = (mmh3.hash64(url + text, signed=False)[0] for url, text in zip(values, texts, strict=True))
        return _hash_keys(np.fromiter(hashes, np.uint64, len(batch)))

    def example(self, batch: Batch) -> str:
        """Return the first key of a pool's batch as its files have it, see `Matched.first`."""
        if self.kind == "caption":
            return repr(batch.texts[0])[:200]
        named = "key" if self.kind == "key" else "url"
        more = f" and {batch.texts[0]!r}" if self.kind == "hash" else ""
        value = decode_uid(batch.uids[0]) if self.kind == "uid" else batch.columns[named][0]
        return f"{value!r}{more}"[:200]

    def batches(self, columns: Sequence[str] = ()) -> Iterator[tuple[UidArray, Values]]:
        """Yield the keys of n rows, shape (n,), and the numbers of `columns`, (n, columns), in batches.

        Rows without a key are left out. The next batch is read while the caller works on one. Raises `UserError` for
        a file that is damaged, lacks a column, or has a malformed key or number.
        """
        for keys, numbers, _ in self._batches(columns):
            yield keys, numbers

    def match(self, keys: UidArray, columns: Sequence[str] = ()) -> Matched:
        """Return what the rows say of m keys, shape (m,), which need neither be sorted nor differ.

        Rows without a number in any of the `columns` do not count. Raises `UserError` if rows of a key differ in
        their numbers, and without rows.
        """
        index = UidIndex(keys)
        # Most rows are of no pair of the pool: a look at the first bits of their keys rules out nearly all of them.
        near = np.zeros(1 << 64 - int(_NEAR), bool)
        near[keys["f0"] >> _NEAR] = True
        values, listed = np.full((len(keys), len(columns)), np.nan), np.zeros(len(keys), bool)
        differs, examples = np.zeros(len(keys), bool), list[str]()
        rows = known = 0
        first = ""
        for row_keys, numbers, names in self._batches(columns):
            if not rows and len(row_keys):
                first = self._show(row_keys, names, 0)
            rows += len(row_keys)
            hits = np.flatnonzero(near[row_keys["f0"] >> _NEAR])
            places = index.find(row_keys[hits])
            hits, places = hits[places >= 0], places[places >= 0]
            known += len(hits)
            if columns:
                told = ~np.isnan(numbers[hits]).all(axis=1)
                hits, places = hits[told], places[told]
            said = numbers[hits]
            wrong = listed[places] & _differ(values[places], said)
            values[places], listed[places] = said, True
            wrong |= _differ(values[places], said)  # of rows in one batch
            if wrong.any():
                new = hits[wrong][np.unique(places[wrong], return_index=True)[1][:3]]
                examples += [self._show(row_keys, names, int(row)) for row in new]
                differs[places[wrong]] = True
        if not rows:
            raise UserError(f"{self._name} is empty; give files with rows")
        if examples:
            raise UserError(
                f"{self._name} has rows of one {self.kind} with different {' and '.join(columns)}, such as"
                f" {', '.join(examples[:3])} ({differs.sum():,} such pairs); keep one row of each"
            )
        if index.repeats:  # one of equal keys has the values
            places = index.find(keys)
            values, listed = values[places], listed[places]
        return Matched(index, values, listed, rows, known, first)

    def _show(self, keys: UidArray, names: pa.Array | None, row: int) -> str:
        """Return the key in a row as its file has it, not longer than a line."""
        return repr(decode_uid(keys[row]) if names is None else names[row].as_py())[:200]

    def _list(self, source: str) -> list[Entry]:
        """Return the files of a path, URL or pattern."""
        local = None if is_remote(source) else user_path(source)
        if local is not None and local.is_file():
            files = [Entry(f"file://{local.absolute()}", False, local.stat().st_size, None)]
            if not _format(source):
                raise UserError(f"{self._setting}={source} must be a {FORMATS_IN_WORDS}")
            return files
        if "*" in source:
            folder = source.partition("*")[0].rpartition("/")[0]
            pattern = source[len(folder) :].lstrip("/")
            depth = pattern.count("/")
            listed = list_files(folder or ("/" if source.startswith("/") else "."), depth).items()
            files = [of for name, of in listed if name.count("/") == depth and fnmatchcase(name, pattern)]
        elif local is None and _format(source) and not (file := find_file(source)).is_folder:
            files = [file]
        else:
            files = list(list_files(source, DEPTH).values())
        if not (known := [file for file in files if _format(file.url)]):
            there = bool(files) or (local is not None and local.is_dir())
            what = "has no files that can be read" if there else "not found"
            raise UserError(
                f"{self._setting}={source} {what}; give a {FORMATS_IN_WORDS}, a folder or a pattern such as"
                " FOLDER/*.parquet, or a URL of these"
            )
        return known

    def _key_columns(self) -> list[str]:
        """Return the columns of the first file that hold the key."""
        kind = self.kind
        named = [name for name in COLUMNS[kind] if name in self._columns]
        return named[:1] or list(UID_COLUMNS)

    def _batches(self, columns: Sequence[str]) -> Iterator[tuple[UidArray, Values, pa.Array | None]]:
        """Yield batches as `batches`, with the keys as the file has them, None for words of uids."""
        return made_ahead(batch for file in self.files for batch in self._read(file, columns))

    def _read(
        self, file: Entry, columns: Sequence[str]
    ) -> Iterator[tuple[UidArray, Values, pa.Array | None]]:
        """Yield the rows of one file."""
        form, key = _format(file.url), self._key_columns()
        if form == ".npy":
            for uids in _read_array(file.url):
                yield uids, np.empty((len(uids), 0)), None
            return
        read = _read_parquet if form == ".parquet" else _read_text
        for table in read(file.url, [*key, *columns]):
            with _explained(file.url):
                named = ((table[name], f"column {name} of {_shown(file.url)}") for name in columns)
                numbers = [_numbers(column, name, spelled=form == ".csv") for column, name in named]
                rows, keys, names = self._keys([table[name] for name in key])
                if form == ".txt" and self.kind == "url":
                    _all_match(names, "://", "url")
            values = np.column_stack(numbers) if numbers else np.empty((len(table), 0))
            yield keys, values[rows], names

    def _keys(
        self, columns: Sequence[pa.Array]
    ) -> tuple[slice | npt.NDArray[np.int64], UidArray, pa.Array | None]:
        """Return the rows with a key, their keys, and these as the file has them."""
        if len(columns) == 2:
            return slice(None), read_uid_columns(pa.table([*columns], [*UID_COLUMNS])), None
        (column,) = columns
        if self.kind == "uid" or self._key_columns() == [URL_HASH]:
            rows = np.flatnonzero(to_mask(column.is_valid()))
            try:
                if self.kind == "uid":
                    return slice(None), encode_uid_column(pa.chunked_array([column])), None
                return rows, encode_uid_column(pa.chunked_array([column.drop_null()])), None
            except ValueError as error:
                raise pa.ArrowInvalid(f"{error}; uids are 32 hex characters or UUIDs") from None
        if self.kind == "hash":
            names = column.cast(pa.int64())
        else:
            names = column.cast(pa.large_string())
            names.validate(full=True)  # of UTF-8, which a parquet file need not hold
            caption = self.kind == "caption"
            names = (
                pc.utf8_slice_codeunits(names, 0, MAX_CHARACTERS)
                if caption
                else pc.utf8_trim_whitespace(names)
            )
            names = pc.if_else(pc.equal(names, ""), None, names)
            if pattern := PATTERNS.get(self.kind):
                names = pc.utf8_lower(names)
                _all_match(names, pattern, self.kind)
        rows = np.flatnonzero(to_mask(names.is_valid()))
        names = names.drop_null()
        if self.kind == "hash":
            return rows, _hash_keys(to_numpy(names).view(np.uint64)), names
        return rows, make_uids(names.cast(pa.large_binary()).to_pylist()), names


def _all_match(names: pa.Array, pattern: str, kind: str) -> None:
    odd = names.filter(pc.invert(pc.match_substring_regex(names, pattern)))
    if len(odd):
        raise pa.ArrowInvalid(f"{odd[0].as_py()[:80]!r} is no {kind}; give a file for each kind of key")


def _path(file: Entry) -> Path:
    return Path(file.url.removeprefix("file://"))


def _shown(url: str) -> str:
    return url.removeprefix("file://")


def _format(url: str) -> str:
    """Return the format that a name says, one of `FORMATS`; empty for others."""
    suffix = PurePosixPath(file_name(url).lower().removesuffix(".gz")).suffix
    return suffix if suffix in FORMATS else ""


def _kind_of_line(line: str) -> Kind | None:
    """Return the kind of key that a line of a text is; None for a malformed uid."""
    if read_uid(line):
        return "uid"
    looks: dict[Kind, str] = {
        "url": "://",
        "hash": r"^-?\d{1,20}$",
        "sha256": PATTERNS["sha256"],
        "domain": PATTERNS["domain"],
    }
    return next((kind for kind, pattern in looks.items() if re.search(pattern, line.lower())), None)


@contextmanager
def _explained(url: str) -> Iterator[None]:
    """Turn what Arrow raises for a damaged file, or a column of an unexpected type, into a `UserError`."""
    try:
        yield
    except DAMAGE as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"{_shown(url)} cannot be read: {reason[:200]}") from None


@contextmanager
def _open_text(url: str) -> Iterator[pa.NativeFile]:
    """Open a text file, or one compressed by gzip whatever its name is."""
    with open_file(url, ahead=True) as file:
        compressed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        yield pa.input_stream(file, compression="gzip" if compressed else None)


def _read_text(url: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of a CSV file, or the lines of a text, as strings: nothing is taken for a number too early."""
    options, parse = _BLOCKS, _MULTILINE
    if _format(url) == ".txt":
        options = pa.csv.ReadOptions(block_size=options.block_size, column_names=columns)
        parse = pa.csv.ParseOptions(delimiter="\x01", quote_char=False)
    types = pa.csv.ConvertOptions(include_columns=columns, column_types=dict.fromkeys(columns, pa.string()))
    with _explained(url), _open_text(url) as stream, pa.csv.open_csv(stream, options, parse, types) as reader:
        yield from reader


def _read_parquet(url: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield columns of a parquet file."""
    with _explained(url), ExitStack() as stack:
        # Of a local file pyarrow reads on its own, in parallel.
        file = stack.enter_context(open_file(url)) if is_remote(url) else _shown(url)
        parquet = stack.enter_context(pq.ParquetFile(file, page_checksum_verification=True))
        names = parquet.schema_arrow.names
        if odd := [name for name in columns if names.count(name) != 1]:
            raise UserError(f"{_shown(url)} must have one column {odd[0]}, not {names.count(odd[0])}")
        yield from parquet.iter_batches(ROWS, columns=columns)


def _read_array(url: str) -> Iterator[UidArray]:
    """Yield the uids of a ``.npy``, sorted or not; a remote one is copied first."""
    with ExitStack() as stack:
        path = Path(_shown(url))
        if is_remote(url):
            path = Path(stack.enter_context(TemporaryDirectory(prefix="pairsift-"))) / file_name(url)
            download(url, path)
        uids = map_uids(path)
        for start in range(0, len(uids), ROWS):
            yield np.array(uids[start : start + ROWS])


def _numbers(column: pa.Array, name: str, spelled: bool) -> npt.NDArray[np.float64]:
    """Return the n numbers of a column, shape (n,); strings are parsed if `spelled`. NaN for missing numbers."""
    if spelled:
        texts = pc.utf8_trim_whitespace(column)
        texts = pc.if_else(pc.match_substring_regex(texts, _MISSING), None, texts)
        if pc.all(pc.match_substring_regex(texts, _TRUTH)).as_py():
            column = texts.cast(pa.bool_())
        else:
            try:
                column = texts.cast(pa.float64())
            except pa.ArrowInvalid as error:
                wrong = re.search("'.*'", str(error))
                raise UserError(f"{name} must be numeric, not {wrong[0][:42] if wrong else 'text'}") from None
            rounded = texts.filter(pc.greater_equal(pc.abs(column), float(MAX_INTEGER))).to_pylist()
            integers = [int(text) for text in rounded if re.fullmatch(r"[+-]?\d+", text)]
            numeric_scores(np.array(integers, object), name)
    missing = to_mask(column.is_null())
    if column.null_count and pa.types.is_integer(column.type):
        column = column.fill_null(0)  # else NumPy's floats would round the other integers
    scores = numeric_scores(column.to_numpy(False), name)
    return np.where(missing, np.nan, np.asarray(scores, np.float64))


def _differ(one: Values, other: Values) -> npt.NDArray[np.bool_]:
    """Return which of n rows differ, shape (n,); missing numbers are equal."""
    same: npt.NDArray[np.bool_] = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
    return ~same


def _bytes(value: object) -> bytes:
    """Return the bytes of a url or key of a pool, none for a missing one."""
    return value if isinstance(value, bytes) else str(value or "").strip().encode(errors="surrogatepass")


def _hash_keys(hashes: npt.NDArray[np.uint64]) -> UidArray:
    keys = np.zeros(len(hashes), UID_DTYPE)
    keys["f0"] = hashes
    return keys
