"""Ties between equal scores: settled by a hash of the run's seed and the uid."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UID_DTYPE, UidArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_SPARE = 1 << 18  # uids that are held beyond those that are kept, at least


def hash_uids(uids: UidArray, seed: int) -> npt.NDArray[np.uint64]:
    """Return a 64-bit hash of (seed, uid) for each of n uids, shape (n,), the same on every platform.

    Both words of the uid and the seed go through the finaliser of SplitMix64 (Steele et al. 2014).
    """
    with np.errstate(over="ignore"):
        x = uids["f0"] ^ (uids["f1"] * _GOLDEN) ^ (np.uint64((seed + 1) % 2**64) * _MIX_1)
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


@dataclass(frozen=True)
class LastTie:
    """The last of the tied uids that `highest` keeps with a seed, and its hash."""

    hash: int
    uid: tuple[int, int]
    seed: int

    def keeps(self, uids: UidArray) -> npt.NDArray[np.bool_]:
        """Tell of n tied uids which are kept, shape (n,)."""
        hashes = hash_uids(uids, self.seed)
        kept = hashes > self.hash
        same = np.flatnonzero(hashes == self.hash)  # that one; two uids hardly ever share a hash
        kept[same] = [uid <= self.uid for uid in uids[same].tolist()]
        return kept


class HighestHashes:
    """The `count` (at least 1) of any number of tied uids that `highest` keeps, in memory for 1.25 times as many."""

    def __init__(self, count: int, seed: int) -> None:
        self.count = count
        self.seed = seed
        self._kept: list[UidArray] = []
        self._held = 0
        self._lowest = np.uint64(0)

    def add(self, uids: UidArray) -> None:
        """Take more of the tied uids, none of which was there before."""
        if not len(uids):
            return
        self._kept.append(uids[hash_uids(uids, self.seed) >= self._lowest])
        self._held += len(self._kept[-1])
        if self._held > 1.25 * self.count + _SPARE:
            self._reduce()

    def uids(self) -> UidArray:
        """Return the kept uids, in no order: shape (count,), or fewer where there are not as many."""
        self._reduce()
        uids = self._kept[0]
        if len(uids) > self.count:  # two have the lowest hash: as in `highest`, the lower uid is kept
            last = hash_uids(uids, self.seed) == self._lowest
            tied = np.sort(uids[last])
            uids = np.concatenate([uids[~last], tied[: self.count - int((~last).sum())]])
        return uids

    def last(self) -> LastTie:
        """Return the last of the kept uids, of which there must be one."""
        uids = self.uids()
        hashes = hash_uids(uids, self.seed)
        lowest = hashes.min()
        return LastTie(int(lowest), max(uids[hashes == lowest].tolist()), self.seed)

    def _reduce(self) -> None:
        """Drop what is below the `count`-th highest hash."""
        uids = np.concatenate([np.empty(0, UID_DTYPE), *self._kept])
        if len(uids) > self.count:
            hashes = hash_uids(uids, self.seed)
            self._lowest = np.partition(hashes, len(hashes) - self.count)[len(hashes) - self.count]
            uids = uids[hashes >= self._lowest]
        self._kept, self._held = [uids], len(uids)
