"""A sample's identity: 128 bits, in arrays and the project's own files as two 64-bit words.

People and foreign files have it as 32 hex characters.
"""

import hashlib
import re
from binascii import unhexlify
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.core.arrow import to_numpy
from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_write

# DataComp's subset dtype: (int(uid[:16], 16), int(uid[16:], 16)).
UID_DTYPE = np.dtype("u8,u8")
UidArray = npt.NDArray[np.void]
# The columns that hold uids in the project's own parquet and Arrow files, both uint64.
UID_COLUMNS = ("uid_high", "uid_low")
_HEX_CHARACTERS = 32
_HEX = re.compile(r"[0-9a-fA-F]{32}")


def make_uid(url: str, text: str) -> str:
    """Return the uid of a sample that came without one: a 128-bit hash of its url and caption."""
    return hashlib.blake2b(f"{url}\n{text}".encode(errors="surrogatepass"), digest_size=16).hexdigest()


def is_uid(value: object) -> bool:
    """Tell whether `value` is a string of 32 hex characters."""
    return isinstance(value, str) and _HEX.fullmatch(value) is not None


def encode_uids(uids: Sequence[str]) -> UidArray:
    """Return n hex strings as an array of shape (n,) and dtype ``u8,u8``. Raises ValueError on a malformed one."""
    if any(len(uid) != _HEX_CHARACTERS for uid in uids):
        raise ValueError("a uid is not 32 characters long")
    return _encode("".join(uids).encode())


def encode_uid_column(column: pa.ChunkedArray) -> UidArray:
    """Return a parquet column of n hex strings as ``u8,u8``, without a Python string per uid.

    Raises ValueError when one is missing or malformed.
    """
    chunks = [_encode(_characters(chunk)) for chunk in column.chunks]
    return np.concatenate([np.empty(0, UID_DTYPE), *chunks])


def _characters(array: pa.StringArray) -> memoryview:
    lengths = pc.binary_length(array)
    if array.null_count or pc.any(pc.not_equal(lengths, _HEX_CHARACTERS)).as_py():
        raise ValueError("a uid is not 32 characters long")
    if not len(array):
        return memoryview(b"")
    _, offsets, data = array.buffers()
    start = int(np.frombuffer(offsets, np.int32)[array.offset])
    return memoryview(data)[start : start + len(array) * _HEX_CHARACTERS]


def _encode(characters: bytes | memoryview) -> UidArray:
    try:
        words = unhexlify(characters)
    except ValueError:
        raise ValueError("a uid has a character that is not hexadecimal") from None
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
    return {name: pa.array(uids[word]) for name, word in zip(UID_COLUMNS, ("f0", "f1"), strict=True)}


def read_uid_columns(table: pa.Table) -> UidArray:
    """Return the uids of a table that has the columns `UID_COLUMNS`, shape (n,)."""
    uids = np.empty(len(table), UID_DTYPE)
    for name, word in zip(UID_COLUMNS, ("f0", "f1"), strict=True):
        uids[word] = to_numpy(table[name])
    return uids


def sort_uids(array: UidArray) -> npt.NDArray[np.int64]:
    """Return the stable order that sorts a ``u8,u8`` array."""
    high, low = array["f0"], array["f1"]
    order = np.argsort(high, kind="stable")
    sorted_high = high[order]
    # One argsort of the high word is nine times faster than a structured sort; equal high words are rare.
    if (sorted_high[1:] == sorted_high[:-1]).any():
        order = np.lexsort((low, high))
    return order


def first_of_each(array: UidArray) -> npt.NDArray[np.bool_]:
    """Return a mask of shape (n,) over a sorted array: True at the first occurrence of each uid."""
    first = np.ones(len(array), bool)
    first[1:] = array[1:] != array[:-1]
    return first


def unite_uids(arrays: Sequence[UidArray]) -> UidArray:
    """Return the uids of all `arrays`, sorted, each once."""
    joined = np.concatenate(arrays)
    joined = joined[sort_uids(joined)]
    return joined[first_of_each(joined)]


class UidIndex:
    """Looks up uids among the n of an array, which need not be sorted."""

    def __init__(self, uids: UidArray) -> None:
        order = sort_uids(uids)
        ordered = uids[order]
        last = np.ones(len(uids), bool)
        last[:-1] = ordered[1:] != ordered[:-1]
        self._rows, self._uids = order[last], ordered[last]
        self._high = np.ascontiguousarray(self._uids["f0"])
        self._high_is_unique = not (self._high[1:] == self._high[:-1]).any()

    def find(self, uids: UidArray) -> npt.NDArray[np.int64]:
        """Return the row of each of m uids, shape (m,): the last one of a uid with several rows, -1 without any."""
        if not len(self._uids):
            return np.full(len(uids), -1)
        # Plain integers are searched four times faster than structured ones.
        if self._high_is_unique:
            positions = np.searchsorted(self._high, uids["f0"])
        else:
            positions = np.searchsorted(self._uids, uids)
        positions = np.minimum(positions, len(self._uids) - 1)
        return np.where(self._uids[positions] == uids, self._rows[positions], -1)


def find_uids(haystack: UidArray, needles: UidArray) -> npt.NDArray[np.int64]:
    """Return the positions in `haystack` of the `needles`, -1 for one that is not there; see `UidIndex`."""
    return UidIndex(haystack).find(needles)


def write_subset(path: Path, array: UidArray) -> None:
    """Write a DataComp subset file: sorted ``u8,u8``; a uid that occurs twice is drawn twice."""
    with atomic_write(path) as temporary:
        np.save(temporary, array[sort_uids(array)])


def read_subset(path: Path) -> UidArray:
    """Read a subset file. Raises `UserError` when it is absent, malformed or unsorted."""
    if not path.is_file():
        raise UserError(f"no subset file {path}; run task=select first, or give the path of a .npy")
    try:
        array: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    except ValueError:
        raise UserError(
            f"{path} is not a numpy array file; give a .npy that task=select wrote, or DataComp's"
        ) from None
    if array.dtype != UID_DTYPE or array.ndim != 1:
        raise UserError(
            f"{path} has dtype {array.dtype}, shape {array.shape}; a subset file is u8,u8 of shape (n,)"
        )
    order = sort_uids(array)
    if (order[1:] < order[:-1]).any():
        # DataComp's resharder merges two sorted streams: an unsorted file would be misread in silence.
        raise UserError(f"{path} is not sorted; np.sort it and save it again")
    return array
