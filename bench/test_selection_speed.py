"""Selection from cached scores compared with DuckDB and plain numpy, in separate processes.

python -m pytest -m perf -s bench/test_selection_speed.py
"""

from functools import partial

import pytest
import torch  # noqa: F401  imported by scoring when it begins; imports are not counted

from bench import selections
from bench.measurement import compare, measure

pytestmark = pytest.mark.perf
CACHED = 12_800_000


@pytest.fixture(scope="module")
def scores(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("scores")
    selections.write_scores(str(folder), CACHED)
    return str(folder)


def seconds_beside_ours(scores: str, reference: str, function: object, goal: float) -> float:
    """Return our processor seconds for selecting 30% of the cached scores, divided by the reference's."""
    k = CACHED * 3 // 10
    ours, other = partial(measure, selections.ours, scores, k), partial(measure, function, scores, k)
    return compare(f"select 30% of 12.8M cached scores ({reference})", ours, reference, other, goal).ratio


def test_cached_scores_beside_duckdb(scores: str) -> None:
    pytest.importorskip("duckdb")
    from bench import duckdb_selection

    assert seconds_beside_ours(scores, "DuckDB", duckdb_selection.select, 0.8) < 0.8


def test_cached_scores_beside_plain_numpy(scores: str) -> None:
    assert seconds_beside_ours(scores, "two passes in numpy", selections.plain, 1.0) < 1.3
