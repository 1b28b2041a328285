"""No filter: DataComp's first baseline, every pair alike."""

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores


class NoFilter(Filter):
    """Score every pair 0. Which k of them are kept is settled as all ties are: by a hash of the seed and the uid."""

    needs = frozenset[str]()
    batch_size = 65536
    light = True

    def score(self, batch: Batch) -> Scores:
        """Return zeros of shape (n,)."""
        return np.zeros(len(batch), np.float32)
