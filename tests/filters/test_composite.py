"""Composites: whether their scores depend on the rest of the pool, and so are those of this pool only."""

from collections.abc import Callable, Iterable, Mapping

import pytest

from benchmark.core.batch import Batch
from filters.base import Filter
from filters.composite import Bounded, Cascade, Intersect, RankSum, Union
from filters.random import Random


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
    ],
)
def test_a_composite_depends_on_the_pool_if_a_part_does(
    make: Callable[[Mapping[str, Filter]], Filter], depends: bool
) -> None:
    assert make({"a": Random(0), "b": Random(1)}).corpus_dependent is depends
    assert make({"a": Random(0), "b": Fitted(1)}).corpus_dependent
    assert make({"a": Fitted(0), "b": Random(1)}).corpus_dependent
