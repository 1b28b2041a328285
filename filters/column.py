"""A metadata column as the score, such as DataComp's own CLIP similarities."""

from benchmark.core.batch import Batch
from benchmark.core.exact_numbers import numeric_scores
from filters.base import Filter, Scores


class Column(Filter):
    """Score by a numeric metadata column; a missing value is NaN, as are all pairs of a file without the column."""

    batch_size = 65536
    light = True

    def __init__(self, column: str) -> None:
        self.column = column
        self.needs = frozenset({column})

    def score(self, batch: Batch) -> Scores:
        """Return the column's values, shape (n,). Raises `UserError` when one is not a number."""
        return numeric_scores(batch.columns[self.column], f"filter.column={self.column} of the metadata")
