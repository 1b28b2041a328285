"""What the jobs of a sweep do together: one pass over the tars for all, with what single runs leave."""

from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from filters.base import Features, Filter, Scores
from tests.command_line import Run
from tests.pools import rows, write_pool


@pytest.mark.slow
def test_a_filter_that_fails_does_not_stop_the_others(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pool = write_pool(tmp_path / "pool", [rows(6, start=start) for start in (0, 6, 12)])
    tests = "tests.benchmark"
    targets = f"{tests}.scoring.test_shared_features.Bright,{tests}.scoring.test_shared_features.Contrasted"
    failing = f"filter._target_={targets},{tests}.cli.test_shared_work.Failing"
    settings = ["task=score", "pool=img2dataset", f"pool.url={pool}", "engine.workers=1"]
    done = run(*settings, "filter=random", "~filter.seed", failing)
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
