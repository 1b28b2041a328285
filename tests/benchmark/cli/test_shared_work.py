"""What the jobs of a sweep do together: one pass over the tars for all, with what single runs leave."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from filters.base import Features, Filter, Scores
from tests.command_line import Run
from tests.pools import rows, write_pool

TESTS = "tests.benchmark"


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shards = [rows(6), rows(6, start=6), rows(6, start=12)]
    return write_pool(tmp_path_factory.mktemp("shared") / "pool", shards)


def settings(pool: Path, task: str, *others: str) -> list[str]:
    return [f"task={task}", "pool=img2dataset", f"pool.url={pool}", "engine.workers=1", *others]


def joined(values: Sequence[object]) -> str:
    return ",".join(map(str, values))


@pytest.mark.slow
def test_a_filter_that_fails_does_not_stop_the_others(
    run: Run, pool: Path, caplog: pytest.LogCaptureFixture
) -> None:
    working = [f"{TESTS}.scoring.test_shared_features.{name}" for name in ("Bright", "Contrasted")]
    targets = joined([*working, f"{TESTS}.cli.test_shared_work.Failing"])
    sweep = settings(pool, "score", "filter=random", "~filter.seed", f"filter._target_={targets}")
    done = run(*sweep)
    assert done.returncode == 1
    assert "Sweep of 3 runs: 2 done, 0 skipped, 1 failed" in done.stderr
    assert "images are read once for random, random, random, on 3 shards" in caplog.text
    assert caplog.text.count("ZeroDivisionError") > 1, "what it did to the others, and its own end"


class Broken(Features):
    """Has a bug."""

    needs = frozenset({"image"})
    batch_size = 4

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        raise ZeroDivisionError


class Failing(Filter):
    needs = frozenset()

    def __init__(self) -> None:
        self.features = (Broken(),)

    def score(self, batch: Batch) -> Scores:
        raise AssertionError
