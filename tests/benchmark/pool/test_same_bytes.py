import hashlib
from pathlib import Path

import pytest

from benchmark.pool.content import find_images
from benchmark.pool.pool import Pool
from tests.pools import rows, write_pool


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def test_images_with_the_given_bytes_are_found_in_every_shard(tmp_path: Path) -> None:
    samples = rows(9)
    samples[7].image = samples[2].image
    samples[3].image = samples[2].image[:-1] + b"x"
    pool = Pool("p", str(write_pool(tmp_path, [samples[:5], samples[5:]])))
    given = [samples[2].image, samples[8].image, b"elsewhere"]
    found = find_images(pool, {len(data) for data in given}, {sha256(data) for data in given})
    assert found == {samples[n].uid: sha256(samples[n].image) for n in (2, 7, 8)}


def test_only_images_of_the_given_sizes_are_read(tmp_path: Path) -> None:
    samples = rows(4)
    pool = Pool("p", str(write_pool(tmp_path, [samples])))
    hashes = {sha256(sample.image) for sample in samples}
    size = len(samples[1].image)
    expected = {sample.uid for sample in samples if len(sample.image) == size}
    assert set(find_images(pool, {size}, hashes)) == expected != {sample.uid for sample in samples}


def test_a_pool_is_read_once_until_a_shard_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = rows(4)
    pool = Pool("p", str(write_pool(tmp_path, [samples])))
    given = {len(samples[0].image)}, {sha256(samples[0].image)}
    first = find_images(pool, *given)
    with monkeypatch.context() as patch:
        patch.setattr(Pool, "index", None)  # would fail if it were called
        assert find_images(pool, *given) == first
    assert find_images(Pool("p", str(write_pool(tmp_path, [rows(3, start=1)]))), *given) == {}
