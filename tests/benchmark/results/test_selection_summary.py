from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import UidArray
from benchmark.results.run_folder import RunFiles
from benchmark.results.selection_statistics import summarise
from benchmark.results.selection_summary import SKETCH, jaccard, write_selection_summary
from benchmark.scoring.score_table import ArraySource
from filters.random import Random
from tests.pools import hashed_uids

UIDS = np.sort(hashed_uids(30_000))


def sketch(uids: UidArray) -> tuple[int, ...]:
    scores = ArraySource(uids, np.zeros(len(uids)))
    return summarise(scores, scores, Random(0), None).sketch


@pytest.mark.parametrize(
    ("one", "other"), [((0, 900), (0, 900)), ((0, 900), (900, 1800)), ((0, 900), (600, 2000))]
)
def test_jaccard_of_small_selections_is_exact(one: tuple[int, int], other: tuple[int, int]) -> None:
    sets = [set(range(*one)), set(range(*other))]
    exact = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
    assert jaccard(sketch(UIDS[slice(*one)]), sketch(UIDS[slice(*other)])) == exact


@pytest.mark.parametrize("second", [(0, 20_000), (20_000, 30_000), (10_000, 30_000), (0, 500), (100, 29_000)])
def test_jaccard_of_large_selections_is_near_the_exact_one(second: tuple[int, int]) -> None:
    sets = [set(range(20_000)), set(range(*second))]
    exact = len(sets[0] & sets[1]) / len(sets[0] | sets[1])
    estimate = jaccard(sketch(UIDS[:20_000]), sketch(UIDS[slice(*second)]))
    assert abs(estimate - exact) < 3 * 0.5 / SKETCH**0.5
    assert estimate == exact or 0 < exact < 1


def test_a_sketch_is_bounded_and_the_same_on_every_platform() -> None:
    assert len(sketch(UIDS)) == SKETCH
    assert sketch(UIDS[:2]) == (6335867390986989864, 7251423297368855732)


def test_nothing_in_common_with_nothing() -> None:
    assert jaccard((), ()) == 0


def test_a_summary_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert RunFiles(tmp_path).summary() is None
    scores = np.linspace(0, 1, len(UIDS))
    kept = ArraySource(UIDS[29_000:], scores[29_000:])
    summary = summarise(ArraySource(UIDS, scores), kept, Random(0), None)
    write_selection_summary(tmp_path, summary)
    assert RunFiles(tmp_path).summary() == summary
