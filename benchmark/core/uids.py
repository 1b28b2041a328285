"""A sample's identity: 128 bits, in arrays and our own files as two 64-bit words, elsewhere as 32 hex characters."""

import hashlib
import re
from binascii import unhexlify
from collections.abc import Iterable, Sequence
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core.arrow import from_numpy, to_numpy
from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_write

# DataComp's subset dtype: (int(uid[:16], 16), int(uid[16:], 16)).
UID_DTYPE = np.dtype("u8,u8")
UidArray = npt.NDArray[np.void]
Words = npt.NDArray[np.uint64]
# The columns that hold uids in the project's own parquet and Arrow files, both uint64.
UID_COLUMNS = ("uid_high", "uid_low")
_HEX_CHARACTERS = 32
_AT_ONCE = 1 << 20  # uids that are searched at a time
_DASHES = (8, 13, 18, 23)  # their positions in the 36 characters of a UUID
UUID = r"([0-9a-fA-F]{8})-([0-9a-fA-F]{4})-([0-9a-fA-F]{4})-([0-9a-fA-F]{4})-([0-9a-fA-F]{12})"
_HEX = re.compile(rf"[0-9a-fA-F]{{32}}|{UUID}")

# What numpy raises for a header that is cut, nested without end, or says what no array can be.
_ODD_HEADER = (ValueError, TypeError, EOFError, OverflowError, SyntaxError, MemoryError, TokenError)


def make_uid(url: str, text: str) -> str:
    """Return the uid of a sample that came without one: a 128-bit hash of its url and caption."""
    return hashlib.blake2b(f"{url}\n{text}".encode(errors="surrogatepass"), digest_size=16).hexdigest()


def make_uids(sources: Iterable[bytes]) -> UidArray:
    """Return the uids of n samples, given by the url, a line feed and the caption of each; see `make_uid`."""
    return _of_bytes(b"".join([hashlib.blake2b(source, digest_size=16).digest() for source in sources]))


def read_uid(value: object) -> str | None:
    """Return the 32 hex characters of a uid that is such a string, in upper or lower case, or a UUID; else None."""
    is_uid = isinstance(value, str) and _HEX.fullmatch(value) is not None
    return str(value).replace("-", "").lower() if is_uid else None


def encode_uids(uids: Sequence[str]) -> UidArray:
    """Return n hex strings as an array of shape (n,) and dtype ``u8,u8``. Raises ValueError on a malformed one."""
    if any(len(uid) != _HEX_CHARACTERS for uid in uids):
        raise ValueError("a uid is not 32 characters long")
    return _encode("".join(uids).encode())


def encode_uid_column(column: pa.ChunkedArray) -> UidArray:
    """Return a parquet column of n uids as ``u8,u8``, without a Python string per uid.

    They are hex strings, all with the dashes of a UUID or all without, or 16 bytes each, such as Arrow's UUID type.
    Raises ValueError when one is missing or malformed.
    """
    chunks = [_of_bytes(_bytes(c)) if is_bytes_of_uids(c) else _encode(_characters(c)) for c in column.chunks]
    return np.concatenate([np.empty(0, UID_DTYPE), *chunks])


def is_bytes_of_uids(array: pa.Array) -> bool:
    """Tell whether a column has 16 bytes per value."""
    return bool(array.type == pa.binary(16) or array.type == pa.uuid())


def _bytes(array: pa.Array) -> memoryview:
    if array.null_count:
        raise ValueError("a uid is missing")
    array = array.cast(pa.binary(16))
    start = 16 * array.offset
    return memoryview(array.buffers()[1])[start : start + 16 * len(array)]


def _characters(array: pa.Array) -> bytes | memoryview:
    if not len(array):
        return b""
    array = array.cast(pa.string())
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int32)[array.offset :][: len(array) + 1]
    lengths, characters = np.diff(bounds), memoryview(data or b"")[bounds[0] : bounds[-1]]
    if not array.null_count and (lengths == _HEX_CHARACTERS + len(_DASHES)).all():
        rows = np.frombuffer(characters, np.uint8).reshape(len(array), -1)
        if (rows[:, _DASHES] == ord("-")).all():
            return np.delete(rows, _DASHES, axis=1).tobytes()
    if array.null_count or (lengths != _HEX_CHARACTERS).any():
        raise ValueError("a uid is not 32 characters long")
    return characters


def _encode(characters: bytes | memoryview) -> UidArray:
    try:
        return _of_bytes(unhexlify(characters))
    except ValueError:
        raise ValueError("a uid has a character that is not hexadecimal") from None


def _of_bytes(words: bytes | memoryview) -> UidArray:
    return np.frombuffer(words, ">u8").astype(np.uint64).view(UID_DTYPE)


def decode_uids(array: UidArray) -> list[str]:
    """Return the hex strings of a ``u8,u8`` array of shape (n,)."""
    text = np.ascontiguousarray(array).view(np.uint64).astype(">u8").tobytes().hex()
    return [text[start : start + _HEX_CHARACTERS] for start in range(0, len(text), _HEX_CHARACTERS)]


def decode_uid(uid: np.void) -> str:
    """Return the hex string of one element of a ``u8,u8`` array."""
    return f"{int(uid['f0']):016x}{int(uid['f1']):016x}"


def uid_columns(uids: UidArray) -> dict[str, pa.Array]:
    """Return n uids as the two columns `UID_COLUMNS` of a table."""
    return {name: from_numpy(uids[word]) for name, word in zip(UID_COLUMNS, ("f0", "f1"), strict=True)}


def read_uid_columns(table: pa.Table) -> UidArray:
    """Return the n uids of a table that has the columns `UID_COLUMNS`, shape (n,)."""
    uids = np.empty(len(table), UID_DTYPE)
    for name, word in zip(UID_COLUMNS, ("f0", "f1"), strict=True):
        uids[word] = to_numpy(table[name])
    return uids


def sort_uids(array: UidArray) -> npt.NDArray[np.int64]:
    """Return the stable order that sorts a ``u8,u8`` array; by the high words first, in half the time."""
    high, low = array["f0"], array["f1"]
    order = np.argsort(high)
    ordered = high[order]
    repeats = np.concatenate([[False], ordered[1:] == ordered[:-1], [False]])
    equal = np.flatnonzero(repeats[1:] | repeats[:-1])
    rows = order[equal]
    order[equal] = rows[np.lexsort((rows, low[rows], high[rows]))]
    return order


def are_sorted(array: UidArray) -> bool:
    """Tell whether a ``u8,u8`` array is sorted."""
    high, low = array["f0"], array["f1"]
    return bool(((high[1:] > high[:-1]) | ((high[1:] == high[:-1]) & (low[1:] >= low[:-1]))).all())


def first_of_each(array: UidArray) -> npt.NDArray[np.bool_]:
    """Return a mask of shape (n,) over a sorted array: True at the first occurrence of each uid."""
    first = np.ones(len(array), bool)
    first[1:] = array[1:] != array[:-1]
    return first


def unite_uids(arrays: Sequence[UidArray]) -> UidArray:
    """Return the uids of all `arrays`, sorted, each once; not copied if they are equal and like this already."""
    alike = all(np.array_equal(arrays[0], other) for other in arrays[1:])
    joined = arrays[0] if alike else np.concatenate(arrays)
    if not are_sorted(joined):
        joined = joined[sort_uids(joined)]
    first = first_of_each(joined)
    return joined if first.all() else joined[first]


class UidIndex:
    """Looks up uids among the n of an array, which need not be sorted; a sorted one is not copied."""

    def __init__(self, uids: UidArray) -> None:
        rows = None if are_sorted(uids) else sort_uids(uids)
        ordered = uids if rows is None else uids[rows]
        last = np.ones(len(uids), bool)
        last[:-1] = ordered[1:] != ordered[:-1]
        self.repeats = not last.all()
        if self.repeats:
            rows, ordered = np.flatnonzero(last) if rows is None else rows[last], ordered[last]
        self._rows = rows
        self._high, self._low = np.ascontiguousarray(ordered["f0"]), ordered["f1"]

    def find(self, uids: UidArray) -> npt.NDArray[np.int64]:
        """Return the row of each of m uids, shape (m,): the last one of a uid with several rows, -1 without any."""
        found = np.full(len(uids), -1)
        for start in range(0, len(uids), _AT_ONCE):
            some = uids[start : start + _AT_ONCE]
            order = sort_uids(some)  # sorted, they are found in a large array several times faster
            rows = search_sorted(self._high, self._low, some[order])
            found[start + order] = rows if self._rows is None else np.where(rows < 0, -1, self._rows[rows])
        return found


def search_sorted(high: Words, low: Words, uids: UidArray) -> npt.NDArray[np.int64]:
    """Return the row of each of m uids, shape (m,), among n sorted uids with the words `high` and `low`; else -1."""
    rows, ends = (np.searchsorted(high, uids["f0"], side) for side in ("left", "right"))
    upper = ends.copy()
    # Once, unless uids that are not hashes share the high word.
    while len(left := np.flatnonzero(rows < upper)):
        middle = (rows[left] + upper[left]) // 2
        is_less = low[middle] < uids["f1"][left]
        rows[left] = np.where(is_less, middle + 1, rows[left])
        upper[left] = np.where(is_less, upper[left], middle)
    known = rows < ends
    known[known] = low[rows[known]] == uids["f1"][known]
    return np.where(known, rows, -1)


def take_first(rows: npt.NDArray[np.int64], taken: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the positions of the first of equal `rows` that are not `taken` yet, and mark these; -1 means none."""
    first = np.sort(np.unique(rows, return_index=True)[1])
    first = first[(rows[first] >= 0) & ~taken[rows[first]]]
    taken[rows[first]] = True
    return first


def find_uids(haystack: UidArray, needles: UidArray) -> npt.NDArray[np.int64]:
    """Return the positions in `haystack` of the `needles`, -1 for a missing uid; see `UidIndex`."""
    return UidIndex(haystack).find(needles)


def write_subset(path: Path, array: UidArray) -> None:
    """Write a DataComp subset file: sorted ``u8,u8``; a uid that occurs twice is drawn twice."""
    with atomic_write(path) as temporary:
        np.save(temporary, array if are_sorted(array) else array[sort_uids(array)])


def read_subset(path: Path) -> UidArray:
    """Read a subset file. Raises `UserError` when it is absent, malformed or unsorted."""
    if not path.is_file():
        raise UserError(f"no subset file {path}; run task=select first, or give the path of a .npy")
    array = np.array(map_uids(path))
    if not are_sorted(array):
        # DataComp's resharder merges two sorted streams: an unsorted file would be misread in silence.
        raise UserError(f"{path} is not sorted; np.sort it and save it again")
    return array


def map_uids(path: Path) -> UidArray:
    """Map the uids in a ``.npy``, shape (n,), sorted or not. Raises `UserError` when it holds anything else."""
    try:
        array = map_npy(path)
    except ValueError:
        raise UserError(
            f"{path} is not a numpy array file; give a .npy that task=select wrote, or DataComp's"
        ) from None
    if array.dtype != UID_DTYPE or array.ndim != 1:
        raise UserError(
            f"{path} has dtype {array.dtype}, shape {array.shape}; a subset file is u8,u8 of shape (n,)"
        )
    return array


def map_npy(path: Path) -> npt.NDArray[Any]:
    """Map the array in a file. Raises ValueError unless it is a ``.npy`` file, and as long as its header says.

    Python objects, which would run code, are never read, nor are archives. `np.load` would take all the memory that a
    header asks for.
    """
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except _ODD_HEADER:
        raise ValueError(f"{path} does not hold a numpy array") from None
