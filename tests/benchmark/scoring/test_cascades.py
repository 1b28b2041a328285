"""Cascades: every filter is fitted on what the filters before it keep, against numpy stage by stage."""

import pickle
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.ties import hash_uids
from benchmark.core.uids import encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.top_k import select_top_k
from filters.base import Features, Filter, Scores
from filters.composite import Bounded, Cascade, RankSum
from filters.normsim import NormSim
from tests.filters.test_normsim import naive_removal
from tests.pools import rows, write_pool

PAIRS, NOTHING = 32, 7  # how many pairs, and the one without a score


class Directions(Features):
    """A unit vector for each caption's number, a quarter of them equal to another's."""

    needs = frozenset({"text"})

    def extract(self, batch: Batch) -> dict[str, np.ndarray]:
        return {"image": directions()[[number(text) for text in batch.texts]]}


class Quality(Filter):
    """Five levels, so that most pairs tie; no score for one pair."""

    needs = frozenset({"text"})

    def score(self, batch: Batch) -> Scores:
        return qualities()[[number(text) for text in batch.texts]]


class Rarity(Filter):
    """Distance from the mean caption number of the pairs that it is fitted on."""

    needs = frozenset({"text"})

    def fit(self, batches) -> None:
        self._mean = np.mean([number(text) for batch in batches for text in batch.texts] or [0])

    def score(self, batch: Batch) -> Scores:
        return np.array([abs(number(text) - self._mean) for text in batch.texts], np.float32)


def number(text: str) -> int:
    return int(text.split()[-1])


def directions() -> np.ndarray:
    vectors = np.random.default_rng(0).normal(size=(PAIRS, 3))
    vectors[::4] = vectors[1::4]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16).astype(np.float32)


def qualities() -> np.ndarray:
    levels = np.random.default_rng(1).integers(0, 5, PAIRS).astype(np.float32)
    levels[NOTHING] = np.nan
    return levels


def normsim() -> NormSim:
    scorer = NormSim("unused", None, 2, None, PAIRS)
    scorer.features = (Directions(),)
    return scorer


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    """Three shards, the first pair in two of them."""
    shards = [rows(12), [*rows(10, start=12), rows(1)[0]], rows(10, start=22)]
    return Pool("p", str(write_pool(tmp_path / "pool", shards)))


UIDS = encode_uids([row.uid for row in rows(PAIRS)])


def by_number(table: ScoreTable) -> list[float]:
    known = dict(zip(table.uids.tolist(), table.scores.tolist(), strict=True))
    return [known.get(uid, np.nan) for uid in UIDS.tolist()]


def best(left: list[int], scores: Mapping[int, float], count: int, seed: int) -> list[int]:
    hashes = hash_uids(UIDS, seed).tolist()
    return sorted(sorted(left, key=lambda n: (-scores[n], -hashes[n]))[:count])


def naive(seed: int) -> list[float]:
    """40% by quality, of these those at least 4 from their mean number, of these NormSim-2-D."""
    left = [n for n in range(PAIRS) if n != NOTHING]
    left = best(left, dict(enumerate(qualities())), round(0.4 * len(left)), seed)
    mean = np.mean(left)
    left = [n for n in left if abs(n - mean) >= 4]
    scores = np.full(PAIRS, np.nan)
    goals = list(range(len(left) - 1, -1, -1))
    scores[left] = naive_removal(directions()[left], goals)
    return scores.tolist()


class PickledWork(LocalEngine):
    """Runs a copy of the work, as a worker process would get it."""

    def run(self, work, pieces):
        yield from super().run(pickle.loads(pickle.dumps(work)), pieces)


@pytest.mark.parametrize("seed", [0, 1])
def test_each_filter_sees_what_the_earlier_ones_keep(pool: Pool, seed: int) -> None:
    filters = {"quality": Quality(), "rarity": Rarity(), "normsim": normsim()}
    scorer = Cascade(filters, {"quality": "40%", "rarity": 4}, seed)
    found = by_number(score_pool(pool, scorer, PickledWork("cpu", 1)))
    assert found == pytest.approx(naive(seed), abs=1e-6, nan_ok=True)


ENGINE = LocalEngine("cpu", 1)


def test_other_survivors_are_other_scores_and_equal_ones_shared(pool: Pool) -> None:
    kept = [
        by_number(score_pool(pool, Cascade({"a": Quality(), "b": Rarity()}, {"a": keep}), ENGINE))
        for keep in (1, 2, "40%", 1)
    ]
    assert len({str(scores) for scores in kept}) == 3
    assert kept[0] == pytest.approx(kept[3], nan_ok=True)
    folders = {path.parent for path in score_paths(pool, Rarity()).values()}
    among = [path for folder in folders for path in folder.glob("among-*")]
    assert len(among) == 3
    # Another cut that keeps the same pairs reads these scores.
    table = score_pool(pool, Cascade({"a": Quality(), "b": Bounded({"a": Rarity()}, 0)}, {"a": 0.5}), ENGINE)
    assert by_number(table) == pytest.approx(kept[0], nan_ok=True)
    assert len([path for folder in folders for path in folder.glob("among-*")]) == 3


def test_a_share_in_a_later_cascade_is_one_of_what_is_left(pool: Pool) -> None:
    inner = Cascade({"a": Rarity(), "b": Quality()}, {"a": "50%"})
    table = score_pool(pool, Cascade({"first": Quality(), "last": inner}, {"first": 2}), ENGINE)
    left = np.flatnonzero(qualities() >= 2)
    rarity = dict(zip(left.tolist(), np.abs(left - left.mean()), strict=True))
    expected = best(left.tolist(), rarity, round(0.5 * len(left)), seed=0)
    assert np.flatnonzero(~np.isnan(by_number(table))).tolist() == expected


def test_a_share_is_exact_with_ties_broken_as_in_the_selection(pool: Pool) -> None:
    alike = Bounded({"a": Quality()}, 0)
    kept = score_pool(pool, Cascade({"a": alike, "b": Quality()}, {"a": "30%"}, 5), ENGINE)
    assert (~np.isnan(kept.scores)).sum() == round(0.3 * (PAIRS - 1))
    selected = select_top_k(score_pool(pool, Quality(), ENGINE), round(0.3 * (PAIRS - 1)), 5)
    assert kept.uids[~np.isnan(kept.scores)].tolist() == selected.uids.tolist()


def test_nothing_left_is_no_crash(pool: Pool) -> None:
    for last in (Rarity(), normsim(), RankSum({"a": Rarity()}, {"a": 1})):
        table = score_pool(pool, Cascade({"a": Quality(), "b": last}, {"a": 9}), ENGINE)
        assert np.isnan(table.scores).all()


def test_the_seed_counts_only_where_ties_are_broken() -> None:
    filters = {"a": Quality(), "b": Rarity()}
    assert Cascade(filters, {"a": 2}, 0).key() == Cascade(filters, {"a": 2}, 1).key()
    assert Cascade(filters, {"a": "20%"}, 0).key() != Cascade(filters, {"a": "20%"}, 1).key()
    assert len({Cascade(filters, keep).key() for keep in (None, {"a": 20}, {"a": "20%"}, {"a": "30%"})}) == 4


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ({"frist": 1}, "filter.keep.frist must name a filter before the last.*did you mean 'first'"),
        ({"last": 1}, "filter.keep.last must name a filter before the last"),
        ({"first": "most"}, "filter.keep.first=most must be the lowest score .* such as 30%"),
        ({"first": "0%"}, "filter.keep.first=0% must be"),
        ({"first": "130%"}, "filter.keep.first=130% must be"),
    ],
)
def test_mistakes_in_keep_are_told_in_one_line(keep: dict[str, float | str | None], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Cascade({"first": Quality(), "last": Rarity()}, keep)
