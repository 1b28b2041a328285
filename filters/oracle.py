"""Oracle: the upper bound on the demo pool; it reads the planted kind of noise."""

from collections.abc import Mapping

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores


class Oracle(Filter):
    """Quality of the planted kind of noise plus the planted concreteness of the caption.

    The pool hides these columns from all other filters.
    """

    needs = frozenset({"noise", "concreteness"})
    batch_size = 65536
    light = True
    upper_bound = True

    def __init__(self, quality: Mapping[str, float]) -> None:
        self.quality = dict(quality)

    def score(self, batch: Batch) -> Scores:
        """Return the kind's quality plus the concreteness in [0, 1]; NaN for a kind that `quality` does not list."""
        quality = np.array([self.quality.get(kind, np.nan) for kind in batch.columns["noise"]])
        return np.asarray(quality + batch.columns["concreteness"], np.float32)
