"""Random: the baseline."""

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


class Random(Filter):
    """A uniform score in [0, 1) that depends only on the uid and the seed, not on shards or batches."""

    needs = frozenset({"text"})
    batch_size = 65536
    light = True

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(self, batch: Batch) -> Scores:
        """Hash each uid with the seed (the finaliser of SplitMix64; Steele et al. 2014) to [0, 1)."""
        uids = batch.uids
        with np.errstate(over="ignore"):
            x = uids["f0"] ^ (uids["f1"] * _GOLDEN) ^ (np.uint64(self.seed + 1) * _MIX_1)
            x = (x ^ (x >> np.uint64(30))) * _MIX_1
            x = (x ^ (x >> np.uint64(27))) * _MIX_2
            x ^= x >> np.uint64(31)
        return (x >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
