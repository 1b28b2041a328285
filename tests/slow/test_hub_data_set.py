"""A selection of a data set with images inside parquet files does not depend on the number of workers."""

from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import read_subset
from tests.benchmark.run.test_hub_data_set import CHOOSE, write_data_set
from tests.command_line import Run


@pytest.mark.full
def test_two_workers_choose_the_pairs_of_one(run: Run, tmp_path: Path) -> None:
    pool, chosen = write_data_set(tmp_path / "hub"), []
    for workers in (1, 2):
        done = run("task=select", *CHOOSE, *pool, f"engine.workers={workers}", "rescore=true")
        assert done.returncode == 0, done.stderr
        chosen.append(read_subset(Path(done.stdout.splitlines()[-1])))
    assert np.array_equal(*chosen)
