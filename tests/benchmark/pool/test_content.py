import hashlib
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.pool.content import find_images, hash_texts, pool_content
from benchmark.pool.pool import Pool
from tests.pools import Row, rows, write_pool, write_tar


def content(folder: Path, *shards: list[Row]) -> str:
    return str(pool_content(Pool("p", str(write_pool(folder, shards)))))


def test_content_depends_on_neither_place_nor_shards_nor_order(tmp_path: Path) -> None:
    first = content(tmp_path / "a", rows(5), rows(4, start=5))
    assert first.startswith("9 pairs, ")
    assert content(tmp_path / "b", rows(9)) == first
    assert content(tmp_path / "c", rows(9)[::-1]) == first


def test_other_pairs_are_another_content(tmp_path: Path) -> None:
    whole = rows(5)
    pools = [whole, whole[:4], rows(5, start=1), [*whole[:4], whole[3]], [*whole, whole[0]]]
    assert len({content(tmp_path / str(number), pool) for number, pool in enumerate(pools)}) == len(pools)


def test_other_captions_of_the_same_uids_are_another_content(tmp_path: Path) -> None:
    def captioned(*texts: str) -> str:
        folder = tmp_path / "-".join(texts)
        folder.mkdir()
        uids = [f"{number:032x}" for number in range(len(texts))]
        pq.write_table(pa.table({"uid": uids, "url": uids, "text": texts}), folder / "00000.parquet")
        return str(pool_content(Pool("p", str(folder))))

    assert len({captioned("x", "y"), captioned("y", "x"), captioned("x", "x"), captioned("x", "z")}) == 4


def test_a_pool_of_tars_has_the_content_of_its_metadata(tmp_path: Path) -> None:
    with_metadata = content(tmp_path / "a", rows(5))
    write_tar(tmp_path / "b" / "00000.tar", rows(5))
    assert str(pool_content(Pool("p", str(tmp_path / "b")))) == with_metadata


def test_other_image_sizes_are_another_content(tmp_path: Path) -> None:
    def encoded(name: str, *sizes: int) -> str:
        samples = rows(2)
        for sample, size in zip(samples, sizes, strict=True):
            sample.image = bytes(size)
        return content(tmp_path / name, samples)

    assert encoded("a", 10, 20) == encoded("b", 10, 20)
    assert len({encoded("c", 10, 20), encoded("d", 20, 10), encoded("e", 10, 21)}) == 3


def test_images_of_a_remote_pool_are_not_hashed(tmp_path: Path) -> None:
    local = content(tmp_path / "a", rows(3))
    fsspec.filesystem("memory").put(str(tmp_path / "a"), "/content", recursive=True)
    remote = str(pool_content(Pool("p", "memory://content")))
    assert remote.endswith(", images not hashed")
    assert remote.removesuffix(", images not hashed") != local


def test_content_is_read_once_until_a_shard_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool("p", str(write_pool(tmp_path, [rows(5)])))
    first = pool_content(pool)
    monkeypatch.setattr(Pool, "batches", None)  # would fail if it were called
    monkeypatch.setattr(Pool, "index", None)
    assert pool_content(pool) == first
    monkeypatch.undo()
    write_tar(tmp_path / "shards" / "00000000.tar", rows(4))
    without = pool_content(Pool("p", str(tmp_path)))
    assert without != first
    assert pool_content(Pool("p", str(write_pool(tmp_path, [rows(6)])))) not in (first, without)


def test_captions_have_the_hashes_of_published_results() -> None:
    # b2sum -l 64, read as little-endian numbers.
    assert hash_texts(["", "a dog on the beach", "ünïcödé ☃ 🐶"]).tolist() == [
        0xB4B2797457A0A6E4, 0x6FAEC2731343D14C, 0x7F3F005921DF1FE6,
    ]  # fmt: skip
    assert hash_texts([]).shape == (0,)


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


def test_images_are_compared_once_until_a_shard_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = rows(4)
    pool = Pool("p", str(write_pool(tmp_path, [samples])))
    given = {len(samples[0].image)}, {sha256(samples[0].image)}
    first = find_images(pool, *given)
    with monkeypatch.context() as patch:
        patch.setattr(Pool, "index", None)  # would fail if it were called
        assert find_images(pool, *given) == first
    assert find_images(Pool("p", str(write_pool(tmp_path, [rows(3, start=1)]))), *given) == {}
