from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.pool.pool import Pool
from benchmark.studies.web_likeness import caption_profile
from benchmark.studies.web_likeness.caption_profile import sample_captions
from tests.pools import Row, rows, write_metadata, write_pool


def captions_pool(folder: Path, shards: int, each: int) -> Pool:
    for number in range(shards):
        write_metadata(folder / f"{number:03d}.parquet", rows(each, start=each * number))
    return Pool("p", str(folder))


def test_each_seed_draws_its_own_captions(tmp_path: Path) -> None:
    pool = captions_pool(tmp_path, shards=2, each=30)
    found = sample_captions(pool, 24, seed=3)
    assert len(set(found)) == 24
    assert sample_captions(pool, 24, seed=3) == found
    assert set(sample_captions(pool, 24, seed=4)) != set(found)
    assert len(set(sample_captions(pool, 99, seed=3))) == 60


def test_few_shards_and_rows_of_them_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caption_profile, "SHARDS", 2)
    monkeypatch.setattr(caption_profile, "ROWS", 3)
    pool = captions_pool(tmp_path, shards=4, each=10)
    few = sample_captions(pool, 2, seed=0)
    assert len(few) == 2
    numbers = {int(text.split()[-1]) for seed in range(40) for text in sample_captions(pool, 2, seed)}
    assert {number % 10 for number in numbers} == {0, 1, 2}
    assert {number // 10 for number in numbers} == {0, 1, 2, 3}
    assert len(sample_captions(pool, 40, seed=0)) == 40


def test_tars_without_metadata_are_read(tmp_path: Path) -> None:
    pool = Pool("p", str(write_pool(tmp_path, [rows(5)])))
    assert set(sample_captions(pool, 9, seed=0)) == {row.text for row in rows(5)}


def test_a_pool_without_captions_is_refused(tmp_path: Path) -> None:
    write_metadata(tmp_path / "a.parquet", [Row("0", "http://example.org/0.jpg", " ", b"")])
    with pytest.raises(UserError, match=r"no usable caption \(1 caption_empty\)"):
        sample_captions(Pool("p", str(tmp_path)), 2, seed=0)
