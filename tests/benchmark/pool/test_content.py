import hashlib
from collections.abc import Sequence
from pathlib import Path

import fsspec
import pytest

from benchmark.pool.content import find_images, hash_texts, pool_content
from benchmark.pool.pool import Pool
from tests.pools import Row, rows, write_pool, write_tar


def content(folder: Path, *shards: list[Row]) -> str:
    return str(pool_content(Pool("p", str(write_pool(folder, shards)))))


def test_content_depends_on_neither_place_nor_shards_nor_order(tmp_path: Path) -> None:
    first = content(tmp_path / "a", rows(5), rows(4, start=5))
    assert first.startswith("9 pairs, ")
    assert content(tmp_path / "b", rows(9)[::-1]) == first


def test_other_pairs_captions_and_sizes_are_another_content(tmp_path: Path) -> None:
    def captioned(*texts: str, sizes: Sequence[int] = (10, 20)) -> list[Row]:
        pairs = enumerate(zip(texts, sizes, strict=True))
        return [Row(f"{n}", "", text, bytes(size), {"uid": f"{n:032x}"}) for n, (text, size) in pairs]

    whole = rows(5)
    pools = [whole, whole[:4], rows(5, start=1), [*whole[:4], whole[3]], [*whole, whole[0]]]
    pools += [captioned("x", "y"), captioned("y", "x"), captioned("x", "x"), captioned("x", "z")]
    pools += [captioned("x", "y", sizes=(20, 10)), captioned("x", "y", sizes=(10, 21))]
    contents = []
    for number, pool in enumerate(pools):
        write_tar(tmp_path / str(number) / "0.tar", pool)
        contents.append(str(pool_content(Pool("p", str(tmp_path / str(number))))))
    assert len(set(contents)) == len(pools)
    assert contents[0] == content(tmp_path / "with metadata", whole)


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
    hashes = {sha256(data) for data in given}
    found = find_images(pool, {len(data) for data in given}, hashes)
    assert found == {samples[n].uid: sha256(samples[n].image) for n in (2, 7, 8)}
    assert find_images(pool, {1}, hashes | {sha256(b"?")}) == {}  # only images of the given sizes are read
    (tmp_path / "shards" / "00000001.tar").unlink()
    (tmp_path / "metadata" / "00000001.parquet").unlink()
    assert list(find_images(Pool("p", str(tmp_path)), {len(samples[2].image)}, hashes)) == [samples[2].uid]
