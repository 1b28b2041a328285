"""Oracle: the best planted grade, a reference on the demo pool; no upper bound of what a model learns."""

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores


class Oracle(Filter):
    """Planted grade of the pair, then concreteness of its caption, in columns that are hidden from other filters."""

    needs = frozenset({"grade", "concreteness"})
    batch_size = 65536
    light = True
    reads_hidden = True

    def score(self, batch: Batch) -> Scores:
        """Return the grade, 0 to 3, plus the concreteness in [0, 1), which ranks pairs of equal grade."""
        return np.asarray(batch.columns["grade"] + batch.columns["concreteness"], np.float32)
