"""Samples of a pool on an HTTP server, fetched by ranges."""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.core import storage
from benchmark.core.errors import UserError
from benchmark.core.uids import UidArray, encode_uids
from benchmark.pool import fetch
from benchmark.pool.fetch import fetch_subset
from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset
from benchmark.pool.tar_index import TarIndex, index_tar
from tests.extras import needs_extra
from tests.pools import Row, rows, write_pool, write_tar
from tests.servers import Behaviour, http_server

pytestmark = needs_extra("http")
IMAGE = frozenset({"image", "text"})
CHOSEN = [0, 1, 5, 11, 12, 19]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "FIRST_WAIT", 0.01)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_pool(tmp_path / "pool", [rows(10), rows(10, start=10)])


def selected(numbers: list[int]) -> UidArray:
    return np.sort(encode_uids([rows(20)[n].uid for n in numbers]))


@contextmanager
def indexed(root: Path, server: Behaviour | None = None) -> Iterator[Pool]:
    """A served pool after all images were read, as by a filter: the indexes are in the cache then."""
    server = server or Behaviour()
    with http_server(root, server) as url:
        pool = Pool("p", url)
        for shard in pool.shards(IMAGE):
            assert list(pool.batches(shard, IMAGE, 9, Counter()))
        server.gets.clear()
        yield pool


@contextmanager
def unindexed(root: Path) -> Iterator[Pool]:
    with http_server(root, Behaviour()) as url:
        yield Pool("p", url)


def tar_bytes(pool: Pool) -> int:
    """The bytes of the fetched members: the tars without their ends."""
    return sum(s.path.stat().st_size - 1024 for s in pool.tars)


@pytest.mark.parametrize("faults", [{}, {"ranges": False}, {"drops": 1}], ids=str)
def test_what_is_fetched_is_what_the_pool_holds(root: Path, faults: dict[str, Any]) -> None:
    chosen = selected(CHOSEN)
    serve = indexed(root, Behaviour(**faults)) if faults else unindexed(root)
    with serve as pool:
        fetched = Subset(fetch_subset(pool, chosen), chosen, metadata=pool)
        assert list(fetched) == list(Subset(Pool("p", str(root)), chosen))


def test_only_the_samples_are_sent_with_an_index(root: Path) -> None:
    for path in root.rglob("*.parquet"):
        path.unlink()
    server = Behaviour()
    with indexed(root, server) as pool:
        (batch,) = pool.batches(pool.tars[0], frozenset({"text"}), 99, Counter())
        assert len(batch) == 10
        assert not server.gets, "captions of an indexed tar need no download"
        local = fetch_subset(pool, selected(CHOSEN))
        assert server.sent(".tar") == tar_bytes(local)
        assert len(server.gets) == 4  # neighbours come together: 0 and 1, 5, 11 and 12, 19
        server.gets.clear()
        fetch_subset(pool, selected(CHOSEN))
        assert not server.gets


def test_a_killed_fetch_goes_on_with_the_next_tar(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Path] = []

    def killed_at_the_second(path: Path, *_: object, **__: object) -> TarIndex:
        begun.append(path)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return index_tar(path, {})

    server = Behaviour()
    with indexed(root, server) as pool:
        with monkeypatch.context() as patch:
            patch.setattr(fetch, "index_tar", killed_at_the_second)
            with pytest.raises(KeyboardInterrupt):
                fetch_subset(pool, selected(CHOSEN))
        server.gets.clear()
        shutil.copy(begun[0].parent / "00000000.tar", begun[1])  # as one that was killed leaves
        local = fetch_subset(pool, selected(CHOSEN))
        assert len(Subset(local, selected(CHOSEN), metadata=pool)) == len(CHOSEN)
        assert 0 < server.sent(".tar") < tar_bytes(local)


def test_members_need_not_be_contiguous(tmp_path: Path) -> None:
    _, second = samples = rows(2)
    parts = [
        Row(s.key, "", "", b"", files={kind: s.members()[kind]})
        for kind in ("jpg", "txt", "json")
        for s in samples
    ]
    write_tar(tmp_path / "pool" / "shards" / "0.tar", parts)
    with indexed(tmp_path / "pool") as pool:
        local = fetch_subset(pool, selected([1]))
        assert [sample.uid for sample in Subset(local, selected([1]))] == [second.uid]
        assert tar_bytes(local) == sum(512 + -(-len(data) // 512) * 512 for data in second.members().values())


def test_a_pool_that_changes_meanwhile_is_one_line(root: Path) -> None:
    with indexed(root) as pool:
        others = [Row(row.key, row.url, row.text[::-1], row.image) for row in rows(10)]
        write_pool(root, [others, others])
        with pytest.raises(UserError, match="changed while it was read; run the same command again"):
            fetch_subset(pool, selected(CHOSEN))


def test_uids_that_no_tar_holds_are_a_user_error(root: Path) -> None:
    with (
        unindexed(root) as pool,
        pytest.raises(UserError, match="none of the 1 selected uids is in the tars"),
    ):
        fetch_subset(pool, encode_uids(["f" * 32]))
