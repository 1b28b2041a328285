"""Uids that occur more than once in a pool, found in bounded memory however many others there are."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UidArray, first_of_each, sort_uids
from filters.base import Scores

HASHES_AT_ONCE = 1 << 26  # 512 MiB; more if there are more than a billion pairs
MAX_RANGE_BITS = 4  # at most 16 passes over the uids
_MIX_HIGH = np.uint64(0xBF58476D1CE4E5B9)
_MIX_LOW = np.uint64(0x9E3779B97F4A7C15)
_Hashes = npt.NDArray[np.uint64]
Block = tuple[UidArray, Scores]
Words = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]


@dataclass(frozen=True)
class Repeated:
    """The m uids that occur more than once, sorted.

    `scores` (m,) are the best of each. `rows` holds, by the number of a block, its
    rows that have one of these uids, ascending.
    """

    uids: UidArray
    scores: Scores
    rows: dict[int, npt.NDArray[np.int64]]

    @property
    def superfluous(self) -> int:
        """How many rows there are beyond the first of each uid."""
        return sum(map(len, self.rows.values())) - len(self.uids)


def find_repeated(
    words: Callable[[], Iterator[Words]], blocks: Callable[[], Iterator[Block]], count: int
) -> Repeated:
    """Find the uids that occur more than once in the blocks of `count` rows in all.

    Args:
        words: gives the two words of the uids of each block, and reads no scores for that.
        blocks: gives uids and scores of each block; it is not called where all uids differ.
        count: number of rows, which decides the number of passes over the uids.
    """
    suspects = _repeated_hashes(words, count)
    found: list[tuple[int, npt.NDArray[np.int64], Block]] = []
    for number, (ids, scores) in enumerate(blocks() if len(suspects) else ()):
        hashes = hash_words(ids["f0"], ids["f1"])
        positions = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
        rows = np.flatnonzero(suspects[positions] == hashes)
        found.append((number, rows, (ids[rows], scores[rows])))
    if not found:
        return Repeated(np.empty(0, "u8,u8"), np.empty(0, np.float32), {})
    return _group(found)


def best_of_each(uids: UidArray, scores: Scores) -> Block:
    """Return the m different uids of n, sorted, and the best score of each, NaN if all are NaN."""
    order = sort_uids(uids)
    first = first_of_each(uids[order])
    if first.all():  # of no uid at all, too
        return uids[order], scores[order]
    starts = np.flatnonzero(first)
    return uids[order][starts], np.fmax.reduceat(scores[order], starts)


def _group(found: list[tuple[int, npt.NDArray[np.int64], Block]]) -> Repeated:
    """Keep the found rows whose whole uids are equal, not only their hashes."""
    uids = np.concatenate([ids for _, _, (ids, _) in found])
    scores = np.concatenate([values for _, _, (_, values) in found])
    order = sort_uids(uids)
    sizes = np.diff(np.flatnonzero(first_of_each(uids[order])), append=len(uids))
    repeated = np.zeros(len(uids), bool)
    repeated[order] = np.repeat(sizes > 1, sizes)
    ends = np.cumsum([len(rows) for _, rows, _ in found])
    rows = {
        number: rows[mask]
        for (number, rows, _), mask in zip(found, np.split(repeated, ends[:-1]), strict=True)
        if mask.any()
    }
    return Repeated(*best_of_each(uids[repeated], scores[repeated]), rows)


def _repeated_hashes(words: Callable[[], Iterator[Words]], count: int) -> _Hashes:
    """Return the hashes that occur more than once, sorted: of equal uids, and hardly ever of others."""
    range_bits = max(0, (count - 1).bit_length() - (HASHES_AT_ONCE - 1).bit_length())
    range_bits = min(range_bits, MAX_RANGE_BITS)
    ranges = range(1 << range_bits)  # one pass over the uids for each
    return np.concatenate([_repeated(_in_range(words, n, range_bits), count >> range_bits) for n in ranges])


def _repeated(arrays: Iterator[_Hashes], expected: int) -> _Hashes:
    hashes = _join(arrays, expected)
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def _join(arrays: Iterator[_Hashes], expected: int) -> _Hashes:
    """Return all arrays as one, never holding them twice unless there are 1% more values than `expected`."""
    joined = np.empty(expected + expected // 100 + 1, np.uint64)
    end = 0
    for array in arrays:
        start, end = end, end + len(array)
        if end > len(joined):
            joined = np.concatenate([joined[:start], np.empty(start + len(array), np.uint64)])
        joined[start:end] = array
    return joined[:end]


def _in_range(words: Callable[[], Iterator[Words]], number: int, range_bits: int) -> Iterator[_Hashes]:
    """Yield those hashes of each block whose highest `range_bits` bits are `number`."""
    for high, low in words():
        hashes = hash_words(high, low)
        yield hashes[hashes >> np.uint64(64 - range_bits) == number] if range_bits else hashes


def hash_words(high: _Hashes, low: _Hashes) -> _Hashes:
    """Return a cheap hash of each uid, spread over all 64 bits where uids are consecutive numbers, too."""
    return np.asarray((high * _MIX_HIGH) ^ (low * _MIX_LOW))
