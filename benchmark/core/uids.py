"""A sample's identity: 128 bits, written as 32 hex characters, in subset files as two 64-bit words."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_write

# DataComp's subset dtype: (int(uid[:16], 16), int(uid[16:], 16)).
UID_DTYPE = np.dtype("u8,u8")
UidArray = npt.NDArray[np.void]
_HEX_CHARACTERS = 32

_NIBBLES = np.full(256, 255, np.uint8)
_NIBBLES[[ord(c) for c in "0123456789abcdef"]] = np.arange(16)
_NIBBLES[[ord(c) for c in "ABCDEF"]] = np.arange(10, 16)
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)


def make_uid(url: str, text: str) -> str:
    """Return the uid of a sample that came without one: a 128-bit hash of its url and caption."""
    return hashlib.blake2b(f"{url}\n{text}".encode(errors="surrogatepass"), digest_size=16).hexdigest()


def is_uid(value: object) -> bool:
    """Tell whether `value` is 32 hex characters (``int(x, 16)`` would also take spaces and underscores)."""
    if not isinstance(value, str) or len(value) != _HEX_CHARACTERS or not value.isascii():
        return False
    return bool((_NIBBLES[np.frombuffer(value.encode(), np.uint8)] < 16).all())


def encode_uids(uids: Sequence[str]) -> UidArray:
    """Return n uids as an array of shape (n,) and dtype ``u8,u8``. Raises ValueError on a malformed one."""
    if any(len(uid) != _HEX_CHARACTERS for uid in uids):
        raise ValueError("a uid is not 32 characters long")
    return _encode("".join(uids).encode(), len(uids))


def encode_uid_column(column: pa.ChunkedArray) -> UidArray:
    """Do the same for a parquet column, without a Python string for each uid."""
    chunks = [_encode(_characters(chunk), len(chunk)) for chunk in column.chunks]
    return np.concatenate([np.empty(0, UID_DTYPE), *chunks])


def _characters(array: pa.StringArray) -> bytes:
    lengths = pc.binary_length(array)
    if array.null_count or pc.any(pc.not_equal(lengths, _HEX_CHARACTERS)).as_py():
        raise ValueError("a uid is not 32 characters long")
    if not len(array):
        return b""
    _, offsets, data = array.buffers()
    start = int(np.frombuffer(offsets, np.int32)[array.offset])
    return bytes(data[start : start + len(array) * _HEX_CHARACTERS])


def _encode(characters: bytes, count: int) -> UidArray:
    nibbles = _NIBBLES[np.frombuffer(characters, np.uint8)]
    if nibbles.size != _HEX_CHARACTERS * count or (nibbles > 15).any():
        raise ValueError("a uid has a character that is not hexadecimal")
    words = (nibbles[0::2] << 4 | nibbles[1::2]).view(">u8").astype(np.uint64)
    return np.ascontiguousarray(words).view(UID_DTYPE)


def decode_uids(array: UidArray) -> list[str]:
    """Return the hex strings of a ``u8,u8`` array of shape (n,)."""
    words = np.ascontiguousarray(array).view(np.uint64).astype(">u8").view(np.uint8)
    text = _DIGITS[np.stack([words >> 4, words & 15], axis=1).ravel()].tobytes().decode()
    return [text[i : i + _HEX_CHARACTERS] for i in range(0, len(text), _HEX_CHARACTERS)]


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
    """Tell of each uid of a sorted array whether it is the first of its kind."""
    first = np.ones(len(array), bool)
    first[1:] = array[1:] != array[:-1]
    return first


def unite_uids(arrays: Sequence[UidArray]) -> UidArray:
    """Return the uids of all `arrays`, sorted, each once."""
    joined = np.concatenate(arrays)
    joined = joined[sort_uids(joined)]
    return joined[first_of_each(joined)]


def find_uids(haystack: UidArray, needles: UidArray) -> npt.NDArray[np.int64]:
    """Return the positions in the sorted `haystack` of the sorted `needles`, -1 for one that is not there."""
    joined = np.concatenate([haystack, needles])
    order = sort_uids(joined)  # stable: a needle follows its twin in the haystack
    rank = np.cumsum(order < len(haystack)) - 1
    positions = np.empty(len(joined), np.int64)
    positions[order] = rank
    found = positions[len(haystack) :]
    there = found >= 0
    there[there] = haystack[found[there]] == needles[there]
    return np.where(there, found, -1)


def write_subset(path: Path, array: UidArray) -> None:
    """Write a DataComp subset file: sorted ``u8,u8``; a uid that stands twice is drawn twice."""
    with atomic_write(path) as temporary:
        np.save(temporary, array[sort_uids(array)])


def read_subset(path: Path) -> UidArray:
    """Read a subset file. Raises `UserError` when it is absent, malformed or unsorted."""
    if not path.is_file():
        raise UserError(f"no subset file {path}; run task=select first, or give the path of a .npy")
    try:
        array: npt.NDArray[Any] = np.load(path, allow_pickle=False)
    except ValueError:
        raise UserError(f"{path} is no numpy array file") from None
    if array.dtype != UID_DTYPE or array.ndim != 1:
        raise UserError(
            f"{path} has dtype {array.dtype}, shape {array.shape}; a subset file is u8,u8 of shape (n,)"
        )
    order = sort_uids(array)
    if (order[1:] < order[:-1]).any():
        # DataComp's resharder merges two sorted streams: an unsorted file would be misread in silence.
        raise UserError(f"{path} is not sorted; np.sort it and save it again")
    return array
