"""A column of captions: which of them can be used, checked as a column and not one by one."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core.arrow import from_numpy, to_mask
from benchmark.core.batch import SampleError
from benchmark.pool.sample_fields import check_caption

_Rows = npt.NDArray[np.int64]


def usable_captions(column: pa.Array, drops: Counter[str]) -> tuple[_Rows, pa.LargeStringArray]:
    """Return the rows of `column` with a usable caption, and the captions; count the others by reason in `drops`.

    A caption that begins with a printable ASCII character is usable, if all are valid UTF-8; only the others are
    looked at one by one, see `check_caption`.
    """
    texts = _as_text(column)
    if texts is None:
        values = values_of(column)
        rows, captions = checked(len(values), lambda row: check_caption(values[row]), drops)
        return rows, pa.array(captions, pa.large_string())
    usable = _begins_printable(texts)
    others = np.flatnonzero(~usable)
    if not len(others):
        return np.arange(len(texts)), texts
    values = texts.take(from_numpy(others)).to_pylist()
    passed, _ = checked(len(values), lambda row: check_caption(values[row]), drops)
    usable[others[passed]] = True
    rows = np.flatnonzero(usable)
    return rows, texts.take(from_numpy(rows))


def checked(count: int, check: Callable[[int], str], drops: Counter[str]) -> tuple[_Rows, list[str]]:
    """Return the rows of `count` that pass the check, and what it returned; count the others by reason."""
    rows, values = [], []
    for row in range(count):
        try:
            values.append(check(row))
        except SampleError as error:
            drops[error.reason] += 1
        else:
            rows.append(row)
    return np.array(rows, np.int64), values


def values_of(array: pa.Array) -> list[Any]:
    """Return the values; strings with invalid UTF-8 come back as bytes, for the caption check to find."""
    try:
        return list(array.to_pylist())
    except UnicodeDecodeError:
        return [value.as_py() for value in array.cast(pa.binary())]


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column of this type holds strings."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _as_text(column: pa.Array) -> pa.LargeStringArray | None:
    """Return the column as valid UTF-8; None where a value is not, or where it is no column of text or bytes."""
    kind = column.type
    if not (
        is_text(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_null(kind)
    ):
        return None
    try:
        texts = column.cast(pa.large_string())
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return texts


def _begins_printable(texts: pa.LargeStringArray) -> npt.NDArray[np.bool_]:
    """Return which of n strings begin with a printable ASCII character other than a space, shape (n,)."""
    first = np.zeros(len(texts), np.uint8)
    _, offsets, data = texts.buffers()
    if data is not None and data.size:
        bounds = np.frombuffer(offsets, np.int64)[texts.offset :][: len(texts) + 1]
        filled = np.flatnonzero(bounds[1:] > bounds[:-1])
        first[filled] = np.frombuffer(data, np.uint8)[bounds[:-1][filled]]
    begins = (first > ord(" ")) & (first < 0x7F)
    if texts.null_count:
        begins &= to_mask(texts.is_valid())
    return begins
