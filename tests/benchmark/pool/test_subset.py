import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core.errors import UserError
from benchmark.core.images import decode_image
from benchmark.core.uids import encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool import subset as subset_module
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import write_shards
from benchmark.pool.subset import Subset, captions_of, index_tars, selected_samples
from tests.pools import Row, jpeg, rows, write_pool


@pytest.fixture
def pool(tmp_path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(7), rows(6, start=7)])))


def selected(numbers) -> np.ndarray:
    return np.sort(encode_uids([rows(13)[n].uid for n in numbers]))


def test_samples_are_the_selected_ones_by_uid(pool: Pool) -> None:
    subset = pickle.loads(pickle.dumps(Subset(pool, selected([12, 3, 8]))))
    expected = sorted(
        (row.uid, row.text, decode_image(row.image)) for row in (rows(13)[n] for n in (12, 3, 8))
    )
    assert [(s.uid, s.text, s.image) for s in subset] == expected
    assert not subset.missing


def test_epochs_are_indices_without_lost_samples(pool: Pool) -> None:
    lost = encode_uids(["f" * 32])
    epochs = [selected([12, 3]), np.sort(np.concatenate([selected([3, 8]), lost]))]
    subset = Subset(pool, np.sort(np.concatenate([selected([12, 3, 8]), lost])), epochs)
    drawn = [[subset[int(i)].uid for i in indices] for indices in subset.epochs]
    assert drawn == [sorted(rows(13)[n].uid for n in numbers) for numbers in ((3, 12), (3, 8))]
    (whole,) = Subset(pool, selected([12, 3])).epochs
    assert whole.tolist() == [0, 1]


def test_selected_samples_that_no_tar_holds_are_counted(pool: Pool) -> None:
    lost = np.sort(np.concatenate([selected([1, 2]), encode_uids(["f" * 32])]))
    assert Subset(pool, lost).missing == {"image_missing": 1}
    with pytest.raises(UserError, match="none of the 1 selected"):
        Subset(pool, encode_uids(["f" * 32]))


@pytest.fixture
def disagreeing(tmp_path) -> Pool:
    """A pool whose metadata has another caption of sample 2 than its tar."""
    samples = rows(4)
    folder = write_pool(tmp_path / "disagreeing", [samples])
    texts = ["another caption" if n == 2 else row.text for n, row in enumerate(samples)]
    table = pa.table({"uid": [row.uid for row in samples], "text": texts})
    pq.write_table(table, folder / "metadata" / "00000000.parquet")
    return Pool("d", str(folder))


def test_the_metadatas_caption_is_trained_on(disagreeing: Pool, caplog: pytest.LogCaptureFixture) -> None:
    subset = Subset(disagreeing, selected([0, 2, 3]))
    assert {sample.uid: sample.text for sample in subset} == {
        row.uid: "another caption" if n == 2 else row.text for n, row in enumerate(rows(4)) if n != 1
    }
    assert subset.missing == {"caption_mismatch": 1}
    (message,) = caplog.messages
    assert message.startswith("subset: 1 of 3 selected samples have other captions in the tars")


def test_resharded_tars_hold_the_metadatas_caption(disagreeing: Pool, tmp_path) -> None:
    write_shards(disagreeing, selected([2]), tmp_path / "out", LocalEngine("cpu"))
    tars = Pool("d", f"{disagreeing.url}/shards/00000000.tar")
    copies = (
        Subset(Pool("q", str(tmp_path / "out")), selected([2])),
        Subset(tars, selected([2]), (), None, disagreeing),
    )
    assert [(sample.uid, sample.text) for (sample,) in copies] == [(rows(3)[2].uid, "another caption")] * 2


def test_a_uid_in_two_tars_is_taken_from_the_first(tmp_path) -> None:
    first, second = rows(2)
    again = Row(second.key, second.url, second.text, jpeg(7, 64))
    pool = Pool("p", str(write_pool(tmp_path, [[first, second], [again]])))
    (part,) = selected_samples(pool, selected([0, 1]))
    assert part.shard.name == "00000000"
    assert [sample.image.size for sample in Subset(pool, selected([1, 1]))] == [(32, 32)] * 2


@pytest.mark.parametrize("light", [99, pytest.param(0, marks=pytest.mark.slow)])
def test_missing_indexes_are_made_on_the_engine(
    pool: Pool, light: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subset_module, "_LIGHT", light)
    first, second = pool.tars
    expected = [pool.index(first).texts, [row.text for row in rows(6, start=7)]]
    before = pool._index_path(first).stat().st_mtime_ns
    index_tars(pool, LocalEngine("cpu", 2))
    assert all(pool.has_index(shard) for shard in pool.tars)
    assert [pool.index(shard).texts for shard in (first, second)] == expected
    assert pool._index_path(first).stat().st_mtime_ns == before


@pytest.mark.parametrize("listed", [True, False])
def test_every_row_of_a_pool_has_its_caption(pool: Pool, listed: bool) -> None:
    if not listed:
        for path in Path(pool.url).rglob("*.parquet"):
            path.unlink()
    uids = np.concatenate([encode_uids([row.uid for row in rows(13)]), encode_uids(["f" * 32])])
    for order in (np.arange(14), np.arange(14)[::-1], np.array([0]), np.array([12, 13]), np.array([6, 7])):
        expected = [rows(13)[n].text if n < 13 else None for n in order]
        assert captions_of(Pool("p", pool.url), uids[order]) == expected
