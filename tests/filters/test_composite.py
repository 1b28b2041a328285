"""Composites: whether their scores depend on the rest of the pool, and so are those of this pool only; their sums."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from filters.base import Filter, standardize
from filters.composite import Bounded, Cascade, Intersect, RankSum, ScoreSum, Union
from filters.random import Random
from tests.pools import numbered_uids


class Fitted(Random):
    def fit(self, batches: Iterable[Batch]) -> None:
        """Statistics of the corpus."""


@pytest.mark.parametrize(
    ("make", "depends"),
    [
        (Cascade, False),
        (lambda parts: Cascade(parts, {"a": 0.5}), False),
        (lambda parts: Cascade(parts, {"a": "50%"}, seed=0), True),
        (Bounded, False),
        (Intersect, True),
        (Union, True),
        (lambda parts: RankSum(parts, {"a": 1, "b": 1}), True),
        (lambda parts: ScoreSum(parts, {"a": 1, "b": 1}), True),
        (lambda parts: ScoreSum(parts, {"a": 1, "b": 1}, {"a": 0, "b": 0}, {"a": 1, "b": 1}), False),
    ],
)
def test_a_composite_depends_on_the_pool_if_a_part_does(
    make: Callable[[Mapping[str, Filter]], Filter], depends: bool
) -> None:
    assert make({"a": Random(0), "b": Random(1)}).corpus_dependent is depends
    assert make({"a": Random(0), "b": Fitted(1)}).corpus_dependent
    assert make({"a": Fitted(0), "b": Random(1)}).corpus_dependent


PARTS = {"a": Random(0), "b": Random(1)}
COLUMNS = [np.array([1, 2, 3, np.nan, 6], np.float32), np.array([0, 0, 1, 1, np.nan], np.float32)]


def test_a_sum_of_scores_is_of_standardised_scores() -> None:
    total = ScoreSum(PARTS, {"b": -2, "a": 0.5}).combine(COLUMNS, numbered_uids(5))
    a = (np.array([1, 2, 3]) - 3) / np.sqrt(3.5)  # of 1, 2, 3 and 6
    b = np.array([-1, -1, 1])
    assert total == pytest.approx([*(0.5 * a - 2 * b), np.nan, np.nan], nan_ok=True)
    given = ScoreSum(PARTS, {"a": 1, "b": 3}, {"a": 1, "b": 0}, {"a": 2, "b": 0.5})
    assert given.combine(COLUMNS, numbered_uids(5)) == pytest.approx([0, 0.5, 7, np.nan, np.nan], nan_ok=True)


def test_equal_scores_are_standardised_to_nothing() -> None:
    assert np.array_equal(standardize(np.array([0.1, np.nan, 0.1])), [0, np.nan, 0], equal_nan=True)
    assert np.isnan(standardize(np.full(3, np.nan))).all()
    assert len(standardize(np.empty(0))) == 0


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        (({"a": 1},), "filter.weights names a, filter.filters a, b; both must name the same parts"),
        (({"a": 1, "b": "x"},), "filter.weights={'a': 1, 'b': 'x'} must be finite numbers"),
        (({"a": 1, "b": 1}, {"a": 1, "b": 1}), "filter.means and filter.deviations must both be given"),
        (
            ({"a": 1, "b": 1}, {"a": 1, "b": 1}, {"a": 1, "b": 0}),
            "filter.deviations must be positive numbers",
        ),
        (({"a": 1, "b": 1}, {"a": 1}, {"a": 1, "b": 1}), "filter.means names a, filter.filters a, b;"),
    ],
)
def test_a_sum_names_the_numbers_that_it_lacks(numbers: tuple[dict[str, float], ...], says: str) -> None:
    with pytest.raises(UserError, match=says):
        ScoreSum(PARTS, *numbers)
