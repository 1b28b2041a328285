"""Columns made without pandas are those that pyarrow makes."""

from typing import Any

import pyarrow as pa
import pytest

from benchmark.core.arrow import from_values


@pytest.mark.parametrize(
    "values",
    [
        ["a", "", "é漢", "\0"],
        [None, "a", None],
        [1, -(2**63), 2**63 - 1],
        [0.1, float("inf"), None],
        [True, False, None, *[True] * 20],
        [*range(30), None],
        [None, None],
        [],
    ],
    ids=str,
)
def test_values_of_one_type_are_a_column(values: list[Any]) -> None:
    column = from_values(values)
    column.validate(full=True)
    assert column.equals(pa.array(values))


@pytest.mark.parametrize("values", [[1, 2.5], [True, 1], ["a", 1], [[1]], [{"a": 1}, None]], ids=str)
def test_other_values_are_left_to_pyarrow(values: list[Any]) -> None:
    assert from_values(values) is None


def test_what_no_column_holds_is_an_error() -> None:
    with pytest.raises(OverflowError):
        from_values([2**63])
    with pytest.raises(UnicodeEncodeError):
        from_values(["\ud800"])
