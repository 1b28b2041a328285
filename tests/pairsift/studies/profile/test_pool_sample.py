import pickle
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.core.uids import decode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.base import Filter, Scores
from pairsift.studies.profile.pool_sample import SHARDS, PoolSample
from tests.pools import Row, rows, write_metadata, write_pool

IMAGE = frozenset({"image"})
BOTH = frozenset({"image", "text"})


class Brightness(Filter):
    """Something that reads images and captions both."""

    needs = BOTH

    def score(self, batch: Batch) -> Scores:
        pairs = zip(batch.images, batch.texts, strict=True)
        return np.array([np.asarray(image).mean() + len(text) for image, text in pairs], np.float32)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(30), rows(20, start=30), rows(50, start=50)])))


def uids(pool: Pool) -> list[str]:
    batches = [b for s in pool.shards(IMAGE) for b in pool.batches(s, BOTH, 7, Counter())]
    assert all(len(batch.images) == len(batch.texts) == len(batch) for batch in batches)
    return [uid for batch in batches for uid in decode_uids(batch.uids)]


def test_each_seed_draws_its_own_sample(pool: Pool) -> None:
    found = uids(PoolSample(pool, 24, seed=3))
    assert len(found) == len(set(found)) == 24
    assert set(found) < set(uids(pool))
    sample = PoolSample(pool, 24, seed=3)
    copy = pickle.loads(pickle.dumps(sample))  # as workers get it
    assert (copy.key, uids(copy)) == (sample.key, found)
    assert set(uids(PoolSample(pool, 24, seed=4))) != set(found)


def test_every_sample_is_as_likely_as_any_other(pool: Pool) -> None:
    drawn = Counter(uid for seed in range(30) for uid in uids(PoolSample(pool, 20, seed)))
    counts = np.array([drawn[uid] for uid in uids(pool)])
    assert counts.sum() == 600
    # 100 samples, each drawn 6 times on the average; the spread of a fair draw is sqrt(30 * 0.2 * 0.8) = 2.2.
    assert 1.7 < counts.std() < 2.7
    assert abs(counts[:30].mean() - 6) < 1.2  # of the first shard


def test_a_samples_scores_equal_the_pools_and_are_cached(pool: Pool) -> None:
    engine = LocalEngine("cpu", 1)
    sample = PoolSample(pool, 17, seed=1)
    some = score_pool(sample, Brightness(), engine)
    assert some.reused == 0
    assert score_pool(PoolSample(pool, 17, seed=1), Brightness(), engine).reused == 1
    assert score_pool(PoolSample(pool, 17, seed=2), Brightness(), engine).reused == 0
    everything = score_pool(pool, Brightness(), engine)
    assert (everything.reused, len(everything.uids)) == (0, 100)
    known = dict(zip(decode_uids(everything.uids), everything.scores.tolist(), strict=True))
    assert len(some.uids) == 17
    assert [known[uid] for uid in decode_uids(some.uids)] == some.scores.tolist()


def test_only_some_shards_are_read_unless_more_are_needed(tmp_path: Path) -> None:
    shards = [rows(3, start=3 * number) for number in range(SHARDS + 5)]
    pool = Pool("p", str(write_pool(tmp_path / "pool", shards)))
    few = PoolSample(pool, 10, seed=0)
    assert few.drawn_from == 3 * SHARDS
    assert len(few.shards(IMAGE)) <= 10
    many = PoolSample(pool, 3 * SHARDS + 4, seed=0)
    assert many.drawn_from == 3 * (SHARDS + 2)


def test_a_sample_larger_than_the_pool_is_the_pool(pool: Pool) -> None:
    sample = PoolSample(pool, 1000, seed=0)
    assert (sample.requested, sample.drawn_from) == (1000, 100)
    assert uids(sample) == uids(pool)


def test_unusable_samples_are_no_drops_of_the_sample(tmp_path: Path) -> None:
    bad = [Row(text, f"http://example.org/{text}.jpg", text, b"no image") for text in (" ", "a caption")]
    pool = Pool("p", str(write_pool(tmp_path / "pool", [[*rows(5), *bad]])))
    sample = PoolSample(pool, 6, seed=0)
    assert sample.unusable == {"caption_empty": 1}
    drops: Counter[str] = Counter()
    (shard,) = sample.shards(IMAGE)
    assert sum(len(batch) for batch in sample.batches(shard, BOTH, 9, drops)) == 5
    assert drops == {"image_unreadable": 1}


def test_a_pool_without_usable_samples_is_refused(tmp_path: Path) -> None:
    write_metadata(tmp_path / "metadata" / "a.parquet", rows(3))
    with pytest.raises(UserError, match="holds no tars"):
        PoolSample(Pool("p", str(tmp_path)), 2, seed=0)
    empty = write_pool(tmp_path / "empty", [[Row("0", "http://example.org/0.jpg", " ", b"")]])
    with pytest.raises(UserError, match=r"has no usable sample \(1 caption_empty\)"):
        PoolSample(Pool("p", str(empty)), 2, seed=0)
