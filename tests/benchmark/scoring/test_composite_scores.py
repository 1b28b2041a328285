"""Scores of composites: parts on disk like any other's, with the numbers that combining gives."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import decode_uids, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_folder, score_paths
from benchmark.scoring.score_parts import SCORING, read_part
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from filters.base import Composite
from filters.composite import Bounded, Cascade, RankSum, ScoreSum, Union
from filters.random import Random
from tests.benchmark.scoring.test_score_pool import Bright, Length
from tests.pools import rows, write_metadata, write_tar

ENGINE = LocalEngine("cpu", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two shards, one sample in both of them; two images are broken, one sample is in no tar."""
    samples = rows(12)
    for number in (3, 7):
        samples[number] = replace(samples[number], image=b"broken")
    write_tar(tmp_path / "shards" / "0.tar", samples[:6])
    write_tar(tmp_path / "shards" / "1.tar", [samples[2], *samples[6:11]])
    write_metadata(tmp_path / "metadata" / "0.parquet", samples[:6])
    write_metadata(tmp_path / "metadata" / "1.parquet", [samples[2], *samples[6:]])
    return tmp_path


@pytest.fixture
def pool(folder: Path) -> Pool:
    return Pool("p", str(folder))


def by_uid(table: ScoreTable) -> dict[str, float]:
    return dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))


def naive(pool: Pool, scorer: Composite) -> dict[str, float]:
    """Join the scores of the filters in dictionaries, then combine."""
    tables = [by_uid(score_pool(pool, part, ENGINE)) for part in scorer.filters.values()]
    uids = sorted({uid for table in tables for uid in table})
    columns = np.array([[table.get(uid, np.nan) for uid in uids] for table in tables], np.float32)
    return dict(zip(uids, scorer.combine(columns, encode_uids(uids)).tolist(), strict=True))


COMPOSITES = {
    "rank_sum": RankSum({"a": Length(), "b": Bright()}, {"a": 1.0, "b": 0.5}),
    "score_sum": ScoreSum({"a": Length(), "b": Bright()}, {"a": 1.0, "b": -0.5}),
    "cascade": Cascade({"a": Bright(), "b": Random(3)}, {"a": 1.0}),
    "share": Cascade({"a": Bright(), "b": Random(3)}, {"a": "40%"}),
    "of texts": Cascade({"a": Length(), "b": Random(3)}),
}


@pytest.mark.parametrize("name", COMPOSITES)
def test_parts_hold_what_combining_gives(pool: Pool, name: str) -> None:
    scorer = COMPOSITES[name]
    table = score_pool(pool, scorer, ENGINE)
    parts = [read_part(path) for path in score_paths(pool, scorer).values()]
    uids = [uid for part in parts for uid in decode_uids(part[0])]
    scores = [score for part in parts for score in part[1].tolist()]
    expected = naive(pool, scorer)
    assert len(uids) == 12
    assert np.isnan(list(expected.values())).any()
    assert np.array_equal([expected[uid] for uid in uids], scores, equal_nan=True)
    assert by_uid(table) == pytest.approx(expected, rel=0, abs=0, nan_ok=True)
    assert sorted(score_folder(pool, scorer).glob("*.parquet")) == sorted(score_paths(pool, scorer).values())
    Length.calls = 0
    again = score_pool(pool, scorer, ENGINE)
    assert (table.reused, again.reused, Length.calls) == (0, 1, 0), "nothing but its own parts is needed"
    assert (again.drops, again.costs) == (table.drops, table.costs)
    assert np.array_equal(again.scores, table.scores, equal_nan=True)
    for path in score_paths(pool, scorer).values():
        path.unlink()
        again = score_pool(pool, scorer, ENGINE)
        assert np.array_equal(again.scores, table.scores, equal_nan=True)
        assert (again.drops, again.costs.keys()) == (table.drops, table.costs.keys())


def test_drops_and_costs_count_once(pool: Pool) -> None:
    scorer = Cascade({"a": Bright(), "b": Bounded({"a": Bright()}, 1.0), "c": Length()})
    table = score_pool(pool, scorer, ENGINE)
    parts = [score_pool(pool, part, ENGINE) for part in scorer.filters.values()]
    assert table.drops == Counter({"image_unreadable": 2, "duplicate_uid": 1})
    scoring = [of.costs.pop(SCORING) for of in (table, *parts)]
    assert table.costs == parts[0].costs == parts[1].costs
    assert sum(seconds.clock for seconds in scoring[1:]) < scoring[0].clock < 1
    assert scoring[0].processor > sum(seconds.processor for seconds in scoring[1:])


def test_neighbouring_ranks_of_a_huge_pool_stay_apart(pool: Pool) -> None:
    class Crowded(Composite):
        """Ranks as close as those of 2^25 pairs are."""

        def combine(self, scores, uids):
            return 1 - scores[0].astype(np.float64) / 2**25

    crowded = Crowded({"a": Length()})
    union = Union({"a": Bounded({"a": crowded}, 0)})
    for scorer in (crowded, Bounded({"a": crowded}, 0)):
        table = score_pool(pool, scorer, ENGINE)
        assert np.sort(table.scores)[:6].tolist() == [1 - number / 2**25 for number in (10, 8, 6, 4, 2, 0)]
    assert np.sort(score_pool(pool, union, ENGINE).scores)[:6].tolist() == [n / 6 for n in range(1, 7)]
