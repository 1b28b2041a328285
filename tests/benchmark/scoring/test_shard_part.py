"""``task.shards=3/8``: jobs that score one pool together."""

import logging
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.errors import UserError
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_part import score_part
from benchmark.scoring.shard_reader import features_path
from filters.composite import RankSum
from filters.random import Random
from tests.benchmark.scoring.test_cascades import Directions, Rarity
from tests.pools import rows, write_pool

ENGINE = LocalEngine("cpu", 1)


class Central(Rarity):
    """Fitted on the pool, from features that are not."""

    needs = frozenset()
    features = (Directions(),)

    def fit(self, batches) -> None:
        self._mean = np.mean([batch.features["image"].mean(0) for batch in batches], axis=0)

    def score(self, batch):
        return np.asarray(batch.features["image"] @ self._mean, np.float32)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(4, start=4 * i) for i in range(5)])))


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3"])
def test_a_wrong_part_says_what_must_hold(pool: Pool, text: str) -> None:
    with pytest.raises(UserError, match="must be a number and how many parts there are"):
        score_part(pool, Random(), ENGINE, text)


def test_all_parts_together_are_the_pool(pool: Pool) -> None:
    paths = score_paths(pool, Random())
    made = dict[Path, int]()
    for part, there in (("2/3", [1, 4]), ("1/3", [0, 1, 3, 4]), ("3/3", [0, 1, 2, 3, 4])):
        score_part(pool, Random(), ENGINE, part)
        assert [number for number, path in enumerate(paths.values()) if path.is_file()] == there
        assert all(path.stat().st_mtime_ns == time for path, time in made.items()), "parts stay"
        made = {path: path.stat().st_mtime_ns for path in paths.values() if path.is_file()}
    table = score_pool(pool, Random(), ENGINE)
    assert (len(table.uids), table.reused) == (20, 1.0)


def test_each_filter_of_a_composite_is_scored_in_parts(pool: Pool) -> None:
    both = RankSum({"a": Random(1), "b": Random(2)}, {"a": 1, "b": 1})
    score_part(pool, both, ENGINE, "1/2")
    assert score_pool(pool, both, ENGINE).reused == pytest.approx(3 / 5)


def test_of_a_fitted_filter_the_features_are_extracted(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        score_part(pool, Central(), ENGINE, "3/3")
    there = [features_path(pool, s, Directions()).is_file() for s in pool.shards(Central().sources)]
    assert there == [False, False, True, False, False]
    assert not any(path.is_file() for path in score_paths(pool, Central()).values())
    assert "only its features are extracted here" in caplog.text
    assert len(score_pool(pool, Central(), ENGINE)) == 20
    with pytest.raises(UserError, match=r"rarity is fitted on the whole pool .* without task.shards"):
        score_part(pool, Rarity(), ENGINE, "1/3")
