"""Rows keyed by pair, as others publish them: scores, tags and lists of pairs, streamed from `RowFiles`.

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

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.core.arrow import to_mask, to_numpy
from benchmark.core.batch import MAX_CHARACTERS, Batch
from benchmark.core.errors import UserError, did_you_mean
from benchmark.core.extras import require
from benchmark.core.prefetch import made_ahead
from benchmark.core.row_files import RowFiles, Values, explained, format_of, shown
from benchmark.core.storage import Entry
from benchmark.core.uids import (
    UID_COLUMNS,
    UID_DTYPE,
    UidArray,
    UidIndex,
    decode_uid,
    encode_uid_column,
    make_uids,
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
# The fields of a pool's samples that are not named as the kind.
NEEDS = {"uid": (), "hash": ("url", "text"), "domain": ("url",), "caption": ("text",)}
# What the keys of a list look like, so that a line of another kind is not taken for a key that no pair has.
PATTERNS = {"md5": "^[0-9a-f]{32}$", "sha256": "^[0-9a-f]{64}$", "domain": r"^[^\s/:@]+\.[^\s/:@]+$"}
KeyedBatch = tuple[UidArray, Values, pa.Array | None]  # see `KeyedRows.batches`
_NEAR = np.uint64(64 - 27)  # bits of a key's first word that are not looked at first


@dataclass(frozen=True)
class Matched:
    """What the rows say of m keys: their values (m, columns), NaN without any, and whether they are `listed` (m,)."""

    index: UidIndex  # of the m keys
    values: Values
    listed: npt.NDArray[np.bool_]
    rows: int  # in all files
    known: int  # rows with one of the m keys
    first: str  # the key in the first row


class KeyedRows(RowFiles):
    """The rows of files.

    Args:
        setting, source: see `RowFiles`.
        key: kind of key; by default the first of uid, url, hash and caption that the files have.
    """

    def __init__(self, setting: str, source: str | Sequence[str], key: Kind | None = None) -> None:
        super().__init__(setting, source)
        self._key = key

    @property
    def _is_text(self) -> bool:
        return format_of(self.files[0].url) == ".txt"

    @cached_property
    def _columns(self) -> list[str]:
        """The names of the columns of the first file; of a text the kind of its keys."""
        return [self._key or _kind_of_line(self.header[0]) or "uid"] if self._is_text else self.header

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
        return frozenset(NEEDS.get(kind, (kind,)))

    @property
    def _pool_column(self) -> str:
        return self.kind if self.kind in ("key", "md5", "sha256") else "url"

    @property
    def columns(self) -> list[str]:
        """The columns of the first file except its keys."""
        keys = {*COLUMNS[self.kind], *UID_COLUMNS}
        return [name for name in self._columns if name not in keys]

    def check(self, columns: Sequence[str] = (), setting: str = "") -> list[Entry]:
        """Return the files. Raises `UserError` unless the first has a key and the `columns` of a `setting`."""
        for name in [*columns, self._key_columns()[0]]:
            if (count := self._columns.count(name)) > 1:
                raise UserError(f"{shown(self.files[0].url)} must have one column {name}, not {count}")
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
        values = list(map(_bytes, batch.columns[self._pool_column]))
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
        more = f" and {batch.texts[0]!r}" if self.kind == "hash" else ""
        value = decode_uid(batch.uids[0]) if self.kind == "uid" else batch.columns[self._pool_column][0]
        return f"{value!r}{more}"[:200]

    def batches(self, columns: Sequence[str] = ()) -> Iterator[KeyedBatch]:
        """Yield the keys of n rows, shape (n,), the numbers of `columns`, (n, columns), and the keys as in the file.

        These are None for uids and hashes of urls. Rows without a key are left out. The next batch is read while the
        caller works on one. Raises `UserError` for a file that is damaged, lacks a column, or has a malformed key or
        number.
        """
        return made_ahead(self._keyed(*part) for part in self.read(self._key_columns(), columns))

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
        for row_keys, numbers, names in self.batches(columns):
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

    def _key_columns(self) -> list[str]:
        """Return the columns of the first file that hold the key."""
        kind = self.kind
        named = [name for name in COLUMNS[kind] if name in self._columns]
        return named[:1] or list(UID_COLUMNS)

    def _keyed(self, url: str, columns: Sequence[pa.Array], values: Values) -> KeyedBatch:
        """Return the rows of a batch that have a key."""
        with explained(url):
            if len(columns) == 2:
                return read_uid_columns(pa.table([*columns], [*UID_COLUMNS])), values, None
            are_uids = self.kind == "uid" or self._key_columns() == [URL_HASH]
            names = columns[0] if are_uids else self._normalized(columns[0])
            if names.null_count and self.kind != "uid":
                values, names = values[to_mask(names.is_valid())], names.drop_null()
            if self.kind == "hash":
                return _hash_keys(to_numpy(names).view(np.uint64)), values, names
            if not are_uids:
                return make_uids(names.cast(pa.large_binary()).to_pylist()), values, names
            try:
                return encode_uid_column(pa.chunked_array([names])), values, None
            except ValueError as error:
                raise pa.ArrowInvalid(f"{error}; uids are 32 hex characters or UUIDs") from None

    def _normalized(self, column: pa.Array) -> pa.Array:
        """Return n keys as they are compared, null without one. Raises `pa.ArrowInvalid` for keys of another kind."""
        if self.kind == "hash":
            return column.cast(pa.int64())
        names = column.cast(pa.large_string())
        names.validate(full=True)  # of UTF-8, which a parquet file need not hold
        if self.kind == "caption":
            names = pc.utf8_slice_codeunits(names, 0, MAX_CHARACTERS)
        else:
            names = pc.utf8_trim_whitespace(names)
        names = pc.if_else(pc.equal(names, ""), None, names)
        pattern = "://" if self._is_text and self.kind == "url" else PATTERNS.get(self.kind)
        names = pc.utf8_lower(names) if self.kind in PATTERNS else names
        if pattern and len(odd := names.filter(pc.invert(pc.match_substring_regex(names, pattern)))):
            raise pa.ArrowInvalid(
                f"{odd[0].as_py()[:80]!r} is no {self.kind}; give a file for each kind of key"
            )
        return names


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
