"""A metadata column as the score, such as DataComp's own CLIP similarities."""

import numpy as np

from benchmark.core.batch import Batch
from filters.base import Filter, Scores


class Column(Filter):
    """Score by a numeric metadata column; a missing value is NaN."""

    batch_size = 65536
    light = True

    def __init__(self, column: str) -> None:
        self.column = column
        self.needs = frozenset({column})

    def score(self, batch: Batch) -> Scores:
        """Return the column's values."""
        return batch.columns[self.column].astype(np.float32)
