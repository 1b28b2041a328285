"""Tars of the web: their time is bounded, and what is wrong in them is counted, never another pair."""

import io
import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.core.errors import UserError
from benchmark.core.tar_members import MAX_EXTENDED, tar_members
from benchmark.core.uids import decode_uids
from benchmark.pool.pool import Pool
from benchmark.pool.tar_index import TarIndex, index_tar
from tests.hostile.hostile_tars import (
    BLOCK,
    DAMAGE,
    END,
    FIRST,
    LAST,
    ODD,
    OTHERS,
    between,
    clean,
    header,
    member,
    noise,
    sample,
)  # fmt: skip
from tests.pools import Row, write_pool

PAIRS = {row.uid: row for row in (FIRST, *OTHERS, LAST)}
WHOLE = b"".join(map(sample, PAIRS.values())) + END


def indexed(folder: Path, data: bytes) -> TarIndex:
    (folder / "a.tar").write_bytes(data)
    return index_tar(folder / "a.tar", {})


def seconds(folder: Path, data: bytes) -> float:
    """Processor seconds of an index."""
    started = time.process_time()
    indexed(folder, data)
    return time.process_time() - started


@pytest.mark.parametrize("name", [*DAMAGE, *ODD])
def test_what_is_odd_costs_neither_time_nor_other_samples(tmp_path: Path, name: str) -> None:
    data = between((DAMAGE | ODD)[name]())
    index = indexed(tmp_path, data)
    assert {FIRST.uid, LAST.uid} <= set(decode_uids(index.uids))
    assert index.drops["shard_corrupt"] == (name in DAMAGE)
    # The machine may be busy: one of three attempts counts.
    assert any(seconds(tmp_path, data) <= 3 * seconds(tmp_path, clean()) for _ in range(3))


class Watched(io.BytesIO):
    """Remembers the longest read."""

    longest = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.longest = max(self.longest, len(data))
        return data


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K", b"S", b"Z"])
def test_no_header_brings_its_data_into_memory(kind: bytes) -> None:
    file = Watched(between(member(bytes(MAX_EXTENDED + 1), kind=kind) + header()))
    names = [found.name for found in tar_members(file, Counter())]
    assert names[-1] == f"{LAST.key}.json"
    assert file.longest < MAX_EXTENDED / 10


def test_a_name_that_cannot_be_read_costs_its_file() -> None:
    """Not only its name: under the first 100 characters of it may be another sample's files."""
    drops = Counter[str]()
    for broken in (member(b"99 path=odd", kind=b"x"), member(b"n" * (MAX_EXTENDED + 1), kind=b"L")):
        data = broken + header("a.jpg") + header("b.jpg") + END
        assert [found.name for found in tar_members(io.BytesIO(data), drops)] == ["b.jpg"]
    assert drops == {"shard_corrupt": 2}


def check_pairs(index: TarIndex, data: bytes, whole: bytes = WHOLE) -> None:
    """Each sample has the caption and the image that it had before the tar was damaged."""
    columns = (decode_uids(index.uids), index.texts, index.offsets, index.sizes)
    for uid, text, offset, size in zip(*columns, strict=True):
        assert PAIRS[uid].text == text
        assert len(data[offset : offset + size]) == len(PAIRS[uid].image)
        assert offset == whole.index(PAIRS[uid].image)


@pytest.mark.parametrize("order", [("jpg", "json", "txt"), ("txt", "json", "jpg")])
def test_a_cut_tar_holds_no_other_pairs(tmp_path: Path, order: tuple[str, ...]) -> None:
    """Wherever it is cut behind the first sample: that one alone may have had no JSON."""
    files = [[member(row.members()[e], f"{row.key}.{e}") for e in order] for row in PAIRS.values()]
    data = b"".join(b"".join(of_row) for of_row in files) + END
    first = len(b"".join(files[0]))
    for cut in range(first, len(data) - len(END), 2911):
        index = indexed(tmp_path, data[:cut])
        assert index.drops["shard_corrupt"] == 1
        assert len(index) <= data[:cut].count(b'"uid"')
        check_pairs(index, data[:cut], data)


def test_damage_anywhere_makes_no_other_pairs(tmp_path: Path) -> None:
    """Thirty tars with stretches that are lost: zeros, noise, or nothing from there on."""
    rng = random.Random(0)
    for _ in range(30):
        data = bytearray(WHOLE)
        for _ in range(rng.randint(1, 3)):
            start = rng.randrange(BLOCK * 9, len(data))  # behind the first sample
            length = min(rng.randint(1, 3000), len(data) - start)
            data[start : start + length] = rng.choice((bytes(length), rng.randbytes(length)))
        if rng.random() < 0.3:
            del data[rng.randrange(BLOCK * 9, len(data)) :]
        index = indexed(tmp_path, bytes(data))
        check_pairs(index, bytes(data))
        assert len(index) == len(PAIRS) or index.drops or data[-len(END) :] != END


def files_of(row: Row, *extensions: str) -> bytes:
    return b"".join(member(row.members()[extension], f"key.{extension}") for extension in extensions)


@pytest.mark.parametrize(
    ("earlier", "later", "drops"),
    [
        (["jpg"], ["txt", "jpg"], {"key_repeated": 1, "caption_missing": 1}),
        (["jpg", "json"], ["txt", "jpg", "json"], {"key_repeated": 1}),
        (["json", "jpg"], ["json", "jpg"], {}),
        (["json"], ["json", "jpg"], {"image_missing": 1}),
    ],
)
def test_a_key_that_comes_again_mixes_no_samples(
    tmp_path: Path, earlier: list[str], later: list[str], drops: dict[str, int]
) -> None:
    one, other, *_ = OTHERS
    index = indexed(tmp_path, between(files_of(one, *earlier) + sample(OTHERS[2]) + files_of(other, *later)))
    data = (tmp_path / "a.tar").read_bytes()
    assert index.drops == drops
    columns = (decode_uids(index.uids), index.texts, index.offsets, index.sizes)
    for uid, text, offset, size in zip(*columns, strict=True):
        assert (PAIRS[uid].text, PAIRS[uid].image) == (text, data[offset : offset + size])


def test_json_that_is_cut_or_lost_makes_no_other_uid(tmp_path: Path) -> None:
    one, (_, _, json) = OTHERS[0], OTHERS[0].members().values()
    cut = files_of(one, "jpg", "txt") + member(json[:20], "key.json")
    index = indexed(tmp_path, between(cut))
    assert (decode_uids(index.uids), index.drops) == ([FIRST.uid, LAST.uid], {"metadata_invalid": 1})
    lost = files_of(one, "jpg", "txt") + noise(BLOCK) + json.ljust(BLOCK, b"\0")
    index = indexed(tmp_path, between(lost))
    assert decode_uids(index.uids) == [FIRST.uid, LAST.uid]
    assert index.drops == {"metadata_missing": 1, "shard_corrupt": 1}


ODD_FILES: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir,
    "link to a folder": lambda path: path.symlink_to(path.parent),
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "broken link": lambda path: path.symlink_to("nowhere"),
    "link to itself": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("name", ["shards/1.tar", "metadata/1.parquet"])
@pytest.mark.parametrize("kind", ODD_FILES)
def test_a_shard_must_be_a_file(tmp_path: Path, kind: str, name: str) -> None:
    write_pool(tmp_path, [[FIRST]])
    ODD_FILES[kind](tmp_path / name)
    with pytest.raises(UserError, match=rf"pool\.url: .*/{name} must be a file") as error:
        Pool("p", str(tmp_path))
    assert "\n" not in str(error.value)
    assert Pool("p", f"{tmp_path}/shards/00000000.tar").tars
