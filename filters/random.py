"""Random: the baseline."""

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.ties import hash_uids
from filters.base import Filter, Scores


class Random(Filter):
    """A uniform score in [0, 1) that depends only on the uid and the seed, not on shards or batches."""

    needs = frozenset[str]()
    batch_size = 65536
    light = True

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(self, batch: Batch) -> Scores:
        """Return the highest 24 bits of each hash, which float32 holds exactly, as a number in [0, 1)."""
        return (hash_uids(batch.uids, self.seed) >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24)
