"""A metadata column as the score, such as DataComp's own CLIP similarities."""

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.base import Filter, Scores

MAX_INTEGER = 1 << 53  # float64 holds every integer up to here


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


def numeric_scores(values: npt.NDArray[Any], setting: str) -> Scores:
    """Return the numbers of a column as scores of shape (n,), none of them rounded; NaN for None.

    Raises `UserError` for text, lists and whatever else is not a number, and for integers that float64 cannot hold;
    `setting` names the column there.
    """
    if values.dtype.kind == "f":
        return np.asarray(values, np.float32 if values.dtype.itemsize <= 4 else np.float64)
    if values.dtype.kind in "biu":
        wrong = values[(values > MAX_INTEGER) | (values < -MAX_INTEGER)].tolist()
    else:
        if values.dtype.kind in "mM":  # times, which numpy may turn into integers
            values = values.astype(str)
        wrong = [value for value in values.tolist() if not _is_exact_number(value)]
    if wrong and isinstance(wrong[0], int | Decimal):
        raise UserError(
            f"{setting} holds {wrong[0]}, and integers beyond 2^53 cannot be told apart as scores; divide them all"
        )
    if wrong:
        raise UserError(f"{setting} must be numeric, not {str(wrong[0])[:40]!r}")
    return np.asarray(values, np.float64)


def _is_exact_number(value: object) -> bool:
    exact = isinstance(value, int | Decimal) and -MAX_INTEGER <= value <= MAX_INTEGER
    return value is None or isinstance(value, float) or exact
