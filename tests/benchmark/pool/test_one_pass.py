"""Several subsets written in one pass over the pool, on one process or many."""

import tarfile
from pathlib import Path

import numpy as np
import pytest

from benchmark.core.uids import UidArray, encode_uids
from benchmark.engine.local import LocalEngine
from benchmark.pool import index_tars as index_module
from benchmark.pool import tar_writer
from benchmark.pool.index_tars import index_tars
from benchmark.pool.pool import Pool
from benchmark.pool.reshard import Copy, reshard
from benchmark.pool.subset import selected_samples
from tests.pools import rows, write_pool

FIRST, SECOND, THIRD = [0, 3, 4, 5, 8, 11, 12, 13], [3, 4, 11], [2]


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    return Pool("p", str(write_pool(tmp_path / "pool", [rows(5), rows(5, start=5), rows(5, start=10)])))


def selected(numbers: list[int]) -> UidArray:
    return np.sort(encode_uids([rows(15)[n].uid for n in numbers]))


def copies(pool: Pool, folder: Path) -> list[Copy]:
    subsets = {"first": FIRST, "second": SECOND, "third": THIRD}
    return [
        Copy(selected_samples(pool, selected(numbers)), folder / name) for name, numbers in subsets.items()
    ]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def write_alone(pool: Pool, folder: Path, shard_size: int) -> dict[str, bytes]:
    for copy in copies(pool, folder):
        reshard(pool, [copy], LocalEngine("cpu"), shard_size)
    return contents(folder)


@pytest.mark.parametrize("shard_size", [1, 2, 3, 10])
def test_subsets_are_written_together_as_alone(pool: Pool, tmp_path: Path, shard_size: int) -> None:
    counts = reshard(pool, copies(pool, tmp_path / "together"), LocalEngine("cpu"), shard_size)
    assert counts == [len(FIRST), len(SECOND), len(THIRD)]
    assert contents(tmp_path / "together") == write_alone(pool, tmp_path / "alone", shard_size)


def test_a_sample_of_several_subsets_is_read_once(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, members = list[list[int]](), tar_writer._members
    monkeypatch.setattr(tar_writer, "_members", lambda file, at: read.append(at) or members(file, at))
    tars, local = list[str](), Pool.local
    monkeypatch.setattr(Pool, "local", lambda self, shard: tars.append(shard.name) or local(self, shard))
    together = copies(pool, tmp_path / "out")
    tars.clear()
    reshard(pool, together, LocalEngine("cpu"))
    assert len(read) == len({*FIRST, *SECOND, *THIRD})
    assert tars == ["00000000", "00000001", "00000002"]


@pytest.mark.slow
def test_workers_write_the_same_bytes(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tar_writer, "_LIGHT", 0)
    reshard(pool, copies(pool, tmp_path / "workers"), LocalEngine("cpu", 2), 2)
    assert contents(tmp_path / "workers") == write_alone(pool, tmp_path / "alone", 2)


@pytest.fixture(params=[99, pytest.param(0, marks=pytest.mark.slow)])
def light(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "_LIGHT", request.param)


@pytest.mark.usefixtures("light")
def test_missing_indexes_are_made_on_the_engine(pool: Pool) -> None:
    expected = [pool.index(pool.tars[0]).texts, [row.text for row in rows(5, start=5)]]
    before = pool._index_path(pool.tars[0]).stat().st_mtime_ns
    index_tars(pool, LocalEngine("cpu", 2))
    assert all(pool.has_index(shard) for shard in pool.tars)
    assert [pool.index(shard).texts for shard in pool.tars[:2]] == expected
    assert pool._index_path(pool.tars[0]).stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("000000012.jpg", 30_000),
        ("0.json", 0),
        ("x" * 100, 511),
        ("x" * 101, 1),
        ("clé.txt", 5),
        ("a", 8**11),
    ],
)
def test_headers_are_those_of_tarfile(name: str, size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size = size
    assert tar_writer.header(name, size) == member.tobuf()
