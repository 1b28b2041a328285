"""Oracle: the upper bound of the demo pool, which knows what kind of noise each pair carries."""

from collections.abc import Mapping

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores


class Oracle(Filter):
    """Score by the planted kind of noise, then by the planted concreteness of the caption.

    No other filter may read these columns: the pool hides them.
    """

    needs = frozenset({"noise", "concreteness"})
    batch_size = 65536
    light = True
    upper_bound = True

    def __init__(self, quality: Mapping[str, float]) -> None:
        self.quality = dict(quality)

    def score(self, batch: Batch) -> Scores:
        """Return the kind's quality plus the concreteness in [0, 1]; an unlisted kind is never chosen."""
        quality = np.array([self.quality.get(kind, np.nan) for kind in batch.columns["noise"]])
        return np.asarray(quality + batch.columns["concreteness"], np.float32)
