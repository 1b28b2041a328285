"""Uids that occur more than once in a pool, found by sorting a hash of 8 bytes per row."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UID_DTYPE, UidArray, first_of_each, sort_uids
from filters.base import Scores

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
        blocks: gives uids and scores of each block; it is not called if all uids differ.
        count: number of rows.
    """
    suspects = _repeated_hashes(words(), count)
    rows, uids = list[npt.NDArray[np.int64]](), [np.empty(0, UID_DTYPE)]
    scores: list[Scores] = [np.empty(0, np.float32)]
    for ids, values in blocks() if len(suspects) else ():
        hashes = hash_words(ids["f0"], ids["f1"])
        positions = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
        rows.append(np.flatnonzero(suspects[positions] == hashes))
        uids.append(ids[rows[-1]])
        scores.append(values[rows[-1]])
    return _group(rows, np.concatenate(uids), np.concatenate(scores))


def _group(rows: list[npt.NDArray[np.int64]], uids: UidArray, scores: Scores) -> Repeated:
    """Keep the found rows whose whole uids are equal, not only their hashes."""
    order = sort_uids(uids)
    uids, scores = uids[order], scores[order]
    starts = np.flatnonzero(first_of_each(uids))
    sizes = np.diff(starts, append=len(uids))
    repeated = np.zeros(len(uids), bool)
    repeated[order] = np.repeat(sizes > 1, sizes)
    if not repeated.any():
        return Repeated(uids[:0], scores[:0], {})
    best = np.fmax.reduceat(scores, starts)  # NaN if all are
    masks = np.split(repeated, np.cumsum(list(map(len, rows)))[:-1])
    of_blocks = {
        number: of[mask] for number, (of, mask) in enumerate(zip(rows, masks, strict=True)) if mask.any()
    }
    return Repeated(uids[starts][sizes > 1], best[sizes > 1], of_blocks)


def _repeated_hashes(words: Iterator[Words], count: int) -> _Hashes:
    """Return the hashes that occur more than once, sorted: of equal uids, and hardly ever of others."""
    hashes, end = np.empty(count, np.uint64), 0
    for high, low in words:
        start, end = end, end + len(high)
        hashes[start:end] = hash_words(high, low)
    hashes.sort()
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def hash_words(high: _Hashes, low: _Hashes) -> _Hashes:
    """Return a cheap hash of each uid, spread over all 64 bits even if uids are consecutive numbers."""
    return np.asarray((high * _MIX_HIGH) ^ (low * _MIX_LOW))
