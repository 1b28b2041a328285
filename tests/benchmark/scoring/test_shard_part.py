"""``task.shards=3/8``: jobs that score one pool together."""

import logging
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_part import ShardPart, score_part
from benchmark.scoring.shard_reader import features_path
from filters.base import Features, Filter, Scores
from filters.composite import RankSum
from filters.random import Random
from tests.pools import rows, write_pool


class Lengths(Features):
    needs = frozenset({"text"})

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        return {"length": np.array([[len(text)] for text in batch.texts], np.float32)}


class LongerThanMean(Filter):
    """Fitted on the pool, from features that are not."""

    needs = frozenset()
    features = (Lengths(),)

    def fit(self, batches: Iterable[Batch]) -> None:
        self._mean = np.mean(np.concatenate([batch.features["length"] for batch in batches]))

    def score(self, batch: Batch) -> Scores:
        return np.asarray(batch.features["length"][:, 0] - self._mean, np.float32)


class Fitted(LongerThanMean):
    needs = frozenset({"text"})
    features = ()


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(4, start=4 * i) for i in range(5)])))


ENGINE = LocalEngine("cpu", 1)


def test_all_parts_together_have_each_shard_once(pool: Pool) -> None:
    shards = pool.shards(frozenset({"text"}))
    parts = [ShardPart(number, 3).of(shards) for number in (1, 2, 3)]
    assert [len(part) for part in parts] == [2, 2, 1]
    assert sorted(shard.name for part in parts for shard in part) == [shard.name for shard in shards]
    assert parts[2] == [shards[2]]


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3"])
def test_a_wrong_part_says_what_must_hold(text: str) -> None:
    with pytest.raises(UserError, match="must be a number and how many parts there are"):
        ShardPart.parse(text)


def test_scores_of_parts_are_reused(pool: Pool) -> None:
    paths = score_paths(pool, Random())
    score_part(pool, Random(), ENGINE, ShardPart.parse("2/2"))
    assert [path.is_file() for path in paths.values()] == [False, True, False, True, False]
    made = [path.stat().st_mtime_ns for path in paths.values() if path.is_file()]
    score_part(pool, Random(), ENGINE, ShardPart.parse("1/2"))
    table = score_pool(pool, Random(), ENGINE)
    assert (len(table.uids), table.reused) == (20, 1.0)
    assert [path.stat().st_mtime_ns for path in paths.values()][1::2] == made


def test_each_filter_of_a_composite_is_scored_in_parts(pool: Pool) -> None:
    both = RankSum({"a": Random(1), "b": Random(2)}, {"a": 1, "b": 1})
    for number in (1, 2):
        score_part(pool, both, ENGINE, ShardPart(number, 2))
    assert score_pool(pool, both, ENGINE).reused == 1


def test_of_a_fitted_filter_the_features_are_extracted(pool: Pool, caplog: pytest.LogCaptureFixture) -> None:
    scorer = LongerThanMean()
    with caplog.at_level(logging.INFO):
        score_part(pool, scorer, ENGINE, ShardPart(3, 3))
    there = [features_path(pool, s, Lengths()).is_file() for s in pool.shards(scorer.sources)]
    assert there == [False, False, True, False, False]
    assert not any(path.is_file() for path in score_paths(pool, scorer).values())
    assert "only its features are extracted here" in caplog.text
    with pytest.raises(UserError, match=r"fitted is fitted on the whole pool .* without task.shards"):
        score_part(pool, Fitted(), ENGINE, ShardPart(1, 3))


def test_all_that_is_missing_can_be_scored_in_one_place(pool: Pool) -> None:
    score_part(pool, Random(), ENGINE, ShardPart(1, 5))
    assert score_pool(pool, Random(), ENGINE).reused == pytest.approx(0.2)
    score_part(pool, LongerThanMean(), ENGINE, ShardPart(1, 2))
    assert len(score_pool(pool, LongerThanMean(), ENGINE)) == 20
