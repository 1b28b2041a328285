import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.paths import cache_folder
from benchmark.core.uids import decode_uids
from benchmark.core.usage import Seconds
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring import shard_work
from benchmark.scoring.score_folder import score_folder, score_paths
from benchmark.scoring.score_parts import SCORING
from benchmark.scoring.score_pool import score_pool
from benchmark.scoring.shard_reader import ShardReader, features_path
from benchmark.scoring.shard_work import ScoreShard
from filters.base import Features, Filter
from filters.random import Random
from tests.pools import rows, write_pool

CPU = torch.device("cpu")


class Sizes(Features):
    """Width and height of each image, as a nested list."""

    needs = frozenset({"image"})
    batch_size = 3
    extracted = 0

    def extract(self, batch):
        Sizes.extracted += len(batch)
        return {"sizes": [[[image.width], [image.height]] for image in batch.images]}


class Areas(Features):
    """Builds on the sizes alone; reads nothing of the pool itself."""

    needs = frozenset()

    def __init__(self) -> None:
        self.features = (Sizes(),)

    def extract(self, batch):
        areas = [[width[0] * height[0]] for width, height in batch.features["sizes"]]
        return {"area": np.array(areas, np.float32)}


class Crowding(Filter):
    """Letters of the caption to a pixel; the text, and features of two kinds."""

    needs = frozenset({"text"})
    batch_size = 2

    def __init__(self) -> None:
        self.features = (Sizes(), Areas())

    def score(self, batch):
        assert not batch.images
        assert [[w[0] * h[0]] for w, h in batch.features["sizes"]] == batch.features["area"].tolist()
        letters = np.array([len(text) for text in batch.texts], np.float32)
        return letters / batch.features["area"][:, 0]


class Rank(Filter):
    """The rank of an area in the pool: depends on the corpus."""

    needs = frozenset()

    def __init__(self) -> None:
        self.features = (Areas(),)

    def fit(self, batches):
        self._areas = np.sort(np.concatenate([batch.features["area"][:, 0] for batch in batches]))

    def score(self, batch):
        return np.searchsorted(self._areas, batch.features["area"][:, 0]).astype(np.float32)


@pytest.fixture
def pool(tmp_path) -> Pool:
    broken = rows(7)
    broken[4] = replace(broken[4], image=b"not a picture")
    return Pool("p", str(write_pool(tmp_path / "pool", [broken, rows(4, start=7)])))


def test_features_of_features_are_joined_by_uid(pool: Pool) -> None:
    Sizes.extracted = 0
    table = score_pool(pool, Crowding(), LocalEngine("cpu", 1))
    good = [row for number, row in enumerate(rows(11)) if number != 4]
    found = dict(zip(decode_uids(table.uids), table.scores.tolist(), strict=True))
    (batch, *_) = pool.batches(pool.shards(Sizes.needs)[0], Sizes.needs, 1, Counter())
    pixels = batch.images[0].width * batch.images[0].height
    assert found == pytest.approx({row.uid: len(row.text) / pixels for row in good}, rel=1e-3)
    assert table.drops == {"image_unreadable": 1}  # counted once, though two features miss it
    assert Sizes.extracted == 10  # once, though two read it
    assert set(table.costs) == {SCORING, Sizes().key(), Areas().key()}
    assert table.cost.clock == pytest.approx(sum(seconds.clock for seconds in table.costs.values()))
    assert all(seconds.processor > 0 for seconds in table.costs.values())


class NoWorkers(LocalEngine):
    """An engine that must not be needed to extract anything."""

    def run(self, work, pieces):
        assert work.light, "cached features start no workers"
        return super().run(work, pieces)


def test_cached_features_start_no_workers_and_keep_their_cost(pool: Pool) -> None:
    with pytest.raises(AssertionError, match="start no workers"):
        score_pool(pool, Rank(), NoWorkers("cpu", 2))
    first = score_pool(pool, Crowding(), LocalEngine("cpu", 1))
    Sizes.extracted = 0
    ranked = score_pool(pool, Rank(), NoWorkers("cpu", 2))
    assert (len(ranked), Sizes.extracted) == (10, 0)
    assert ranked.costs | {SCORING: first.costs[SCORING]} == first.costs
    for path in cache_folder("features").glob(f"*/{Sizes().key()}/*"):  # a feature under the feature
        path.unlink()
    shutil.rmtree(score_folder(pool, Rank()))
    with pytest.raises(AssertionError, match="start no workers"):
        score_pool(pool, Rank(), NoWorkers("cpu", 2))


@pytest.mark.parametrize(("bound", "light"), [(2, False), (3, True)])
def test_many_shards_are_shared_by_workers(
    bound: int, light: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard_work, "LIGHT_SHARDS", bound)
    many = Pool("p", str(write_pool(tmp_path / "many", [rows(3), rows(2, 3), rows(4, 5)])))
    (first, *others) = score_paths(many, Random()).items()
    assert ScoreShard(many, Random(), dict(others), Seconds(), None).light == light
    assert not ScoreShard(many, Random(), dict([first, *others]), Seconds(), None).light


def test_statistics_of_a_corpus_are_not_reused_for_a_larger_one(tmp_path) -> None:
    folder = tmp_path / "pool"
    write_pool(folder, [rows(3)])
    assert score_pool(Pool("p", str(folder)), Rank(), LocalEngine("cpu", 1)).reused == 0
    assert score_pool(Pool("p", str(folder)), Rank(), LocalEngine("cpu", 1)).reused == 1
    write_pool(folder, [rows(3), rows(3, start=3)])
    assert score_pool(Pool("p", str(folder)), Rank(), LocalEngine("cpu", 1)).reused == 0


def test_a_shard_without_a_usable_sample_has_no_batches(tmp_path) -> None:
    bad = [replace(row, image=b"") for row in rows(2)]
    pool = Pool("p", str(write_pool(tmp_path / "pool", [bad])))
    shard = pool.shards(Crowding().sources)[0]
    drops = Counter[str]()
    assert list(ShardReader(pool, "cpu").batches(shard, Crowding(), drops)) == []
    assert drops.total() == 2
    assert features_path(pool, shard, Areas()).is_file()
