"""Ties between equal scores: settled by a hash of the run's seed and the uid."""

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UidArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def hash_uids(uids: UidArray, seed: int) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of (seed, uid) for each of n uids, shape (n,), the same on every platform.

    Both words of the uid and the seed go through the finaliser of SplitMix64 (Steele et al. 2014).
    """
    with np.errstate(over="ignore"):
        return mix(uids["f0"] ^ (uids["f1"] * GOLDEN) ^ (np.uint64((seed + 1) % 2**64) * _MIX_1))


def mix(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the finaliser of SplitMix64 of n numbers, shape (n,)."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return np.asarray(x ^ (x >> np.uint64(31)))


def highest(
    scores: npt.NDArray[np.float32 | np.float64], uids: UidArray, count: int, seed: int
) -> npt.NDArray[np.int64]:
    """Return the positions, ascending, of exactly `count` of the highest of n scores, none of them NaN.

    Of scores that are equal to the lowest one kept, those whose uids have the highest `hash_uids` are kept: the order
    of ``filter=random`` with the same seed, so that equal scores are a random choice whatever the uids are.
    """
    if count == 0:
        return np.empty(0, np.int64)
    lowest = np.partition(scores, len(scores) - count)[len(scores) - count]
    above, tied = np.flatnonzero(scores > lowest), np.flatnonzero(scores == lowest)
    order = np.argsort(~hash_uids(uids[tied], seed), kind="stable")
    return np.sort(np.concatenate([above, tied[order[: count - len(above)]]]))
