from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_folder
from benchmark.core.uids import decode_uids
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.base import Features, Filter
from filters.column import Column
from filters.composite import Cascade
from filters.random import Random
from tests.pools import hashed_uids, rows, write_metadata, write_pool


class Length(Filter):
    """Scores by the caption's length; odd numbers cannot be scored."""

    needs = frozenset({"text"})
    calls = 0

    def score(self, batch):
        Length.calls += 1
        numbers = np.array([int(t.split()[-1]) for t in batch.texts])
        return np.where(numbers % 2, np.nan, numbers).astype(np.float32)


class Brightness(Features):
    needs = frozenset({"image", "text"})
    extracted = 0

    def setup(self, device: torch.device) -> None:
        self._device = device

    def extract(self, batch):
        Brightness.extracted += len(batch)
        return {"mean": np.array([[np.asarray(i).mean()] for i in batch.images], np.float32)}


class Bright(Filter):
    needs = frozenset()

    def __init__(self, sign: float = 1.0) -> None:
        self.sign = sign
        self.features = (Brightness(),)

    def score(self, batch):
        return np.float32(self.sign) * batch.features["mean"][:, 0]


def by_uid(table) -> dict[str, float]:
    return dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))


@pytest.fixture
def pool(tmp_path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(7), rows(6, start=7)])))


def test_scores_are_those_of_the_filter_and_are_cached(pool: Pool) -> None:
    Length.calls = 0
    table = score_pool(pool, Length(), LocalEngine("cpu", 1))
    expected = {r.uid: float(i) if i % 2 == 0 else np.nan for i, r in enumerate(rows(13))}
    assert by_uid(table) == pytest.approx(expected, nan_ok=True)
    assert (table.uids == np.sort(table.uids)).all()
    assert (table.reused, Length.calls) == (0, 2)
    again = score_pool(pool, Length(), LocalEngine("cpu", 1))
    assert (again.reused, Length.calls) == (1, 2)
    assert by_uid(again) == pytest.approx(expected, nan_ok=True)


def test_a_killed_scoring_goes_on_with_the_missing_shard_and_counts_its_fit_once(
    pool: Pool, monkeypatch
) -> None:
    monkeypatch.setattr("benchmark.scoring.score_pool.fit_filter", lambda *_: Seconds(100.0, 100.0))
    first = score_pool(pool, Random(), LocalEngine("cpu", 1))
    next(cache_folder("scores", pool.key, Random().key()).glob("00000001*")).unlink()
    second = score_pool(pool, Random(), LocalEngine("cpu", 1))
    assert second.reused == 0.5
    assert by_uid(first) == by_uid(second)
    assert second.cost.clock == pytest.approx(100, abs=5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda n: np.zeros((n, 1)), r"float64 of shape \(7, 1\) for 7 pairs; it must return"),
        (np.arange, r"int64 of shape \(7,\) for 7 pairs"),
        (lambda n: [0.0] * n, "list of shape None for 7 pairs"),
    ],
)
def test_a_filter_that_breaks_the_contract_is_named(
    pool: Pool, wrong: Callable[[int], Any], message: str
) -> None:
    class Wrong(Length):
        def score(self, batch):
            return wrong(len(batch))

    with pytest.raises(UserError, match=rf"Wrong\.score gave {message}"):
        score_pool(pool, Wrong(), LocalEngine("cpu", 1))


@pytest.mark.parametrize("needs", [None, "text", ("text",), {1}])
def test_a_filter_names_what_it_needs(pool: Pool, needs: Any) -> None:
    scorer = Length()
    scorer.needs = needs
    with pytest.raises(UserError, match=r"Length\.needs must be the set of what it reads: text, image"):
        score_pool(pool, scorer, LocalEngine("cpu", 1))


def test_hidden_columns_are_for_the_oracle_only(tmp_path) -> None:
    write_metadata(tmp_path / "a.parquet", rows(2), noise=["concrete", "abstract"])
    pool = Pool("p", str(tmp_path), hidden=["noise"])
    with pytest.raises(UserError, match="hides the column 'noise'"):
        score_pool(pool, Column("noise"), LocalEngine("cpu", 1))


def test_random_is_uniform_and_depends_on_uid_and_seed_only() -> None:
    uids = hashed_uids(20_000)
    one, two = (Random(seed).score(Batch(uids, [])) for seed in (0, 1))
    assert np.histogram(one, bins=10, range=(0, 1))[0] == pytest.approx(np.full(10, 2000), abs=200)
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.03
    assert Random(7).score(Batch(uids[:2], [])).tolist() == [0.8509212732315063, 0.5432937145233154]
    shuffled = Random(0).score(Batch(uids[::-1], []))
    assert (shuffled[::-1] == one).all()


def test_identity_leaves_out_loaded_state_and_keeps_settings() -> None:
    plain, loaded = Bright(), Bright()
    loaded.features[0].setup(torch.device("cpu"))
    assert plain.key() == loaded.key()
    assert plain.key() != Bright(-1.0).key()
    assert Cascade({"a": Random(1)}).key() != Cascade({"a": Random(2)}).key()
    assert Random(1).key() == Random(1).key()
