"""Statistics of graded captions."""

import numpy as np
import pytest

from tools.demo_world import graded_likeness
from tools.demo_world.graded_likeness import mean_by_grade, measure_graded


def test_means_are_those_of_each_grade() -> None:
    found = mean_by_grade(np.array([1.0, 2.0, 4.0]), np.array([3.0, 0.0, 3.0]))
    assert found == {0: 2.0, 3: 2.5}


def test_predictable_captions_with_high_grades_correlate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Concrete captions share their words here, abstract ones are random letters."""
    monkeypatch.setattr(graded_likeness, "GRADED", 120)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcdefghijkl"), 5)) for _ in range(1_000)]
    known = words[:30]
    captions, grades = [], []
    for number in range(500):
        concrete = number % 2
        captions.append(" ".join(rng.choice(known if concrete else words, 6)))
        grades.append(3.0 * concrete)
    found = measure_graded(captions, grades)
    assert found.sba > 0.3
    assert found.sba_standardised == pytest.approx(found.sba, abs=1e-6)  # all have six words
    assert found.predictability > 0.8
    assert found.bits_ratio > 1.3
