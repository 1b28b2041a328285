"""Columns of numbers as scores, none of them rounded."""

from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError

MAX_INTEGER = 1 << 53  # float64 holds every integer up to here


def numeric_scores(values: npt.NDArray[Any], setting: str) -> npt.NDArray[np.float32 | np.float64]:
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
