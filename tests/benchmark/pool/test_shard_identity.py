"""A pool is known by what its files hold: not by how its folder is spelled, nor by names, sizes and times alone."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.core import fingerprints
from benchmark.core.batch import Batch
from benchmark.core.hashes import hash_file
from benchmark.engine.local import LocalEngine
from benchmark.pool import layout
from benchmark.pool.pool import Pool
from benchmark.scoring.score_pool import score_pool
from filters.base import Filter, Scores
from tests.pools import Row, rows, write_pool, write_tar

ENGINE = LocalEngine("cpu", workers=1)


class Lengths(Filter):
    """The second letter of the caption, of metadata or of tars."""

    light = True

    def __init__(self, needs: str) -> None:
        self.needs = frozenset(needs.split())

    def score(self, batch: Batch) -> Scores:
        return np.array([float(ord(text[1])) for text in batch.texts], np.float32)


def scored(url: str | Path, needs: str) -> tuple[float, list[float]]:
    """The fraction of scores that an earlier call left, and the scores."""
    table = score_pool(Pool("p", str(url)), Lengths(needs), ENGINE)
    return table.reused, table.scores.tolist()


@pytest.mark.parametrize("needs", ["text", "image text"])
def test_every_spelling_of_a_folder_or_list_is_one_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    write_pool(tmp_path / "pool", [rows(3), rows(3, start=3)])
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("pool")
    for file in (tmp_path / "pool").rglob("*.*"):
        link = tmp_path / "linked" / file.relative_to(tmp_path / "pool")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(file)
    _, scores = scored("pool", needs)
    folders = ["./pool", "other/../pool", "~/pool", f"{tmp_path}/pool", f"file://{tmp_path}/pool"]
    for spelling in (*folders, "pool/", "link", "linked"):
        assert scored(spelling, needs) == (1, scores), spelling
    if needs == "image text":
        _, scores = scored("pool/shards/{00000000..00000001}.tar", needs)
        for folder in folders:
            listed = f"{folder}/shards/00000001.tar::{folder}/shards/00000000.tar"
            assert scored(listed, needs) == (1, scores), listed


@pytest.mark.parametrize("needs", ["text", "image text"])
def test_a_copied_or_moved_pool_keeps_its_scores(tmp_path: Path, needs: str) -> None:
    _, scores = scored(write_pool(tmp_path / "pool", [rows(3)]), needs)
    shutil.copytree(tmp_path / "pool", tmp_path / "copy", copy_function=shutil.copyfile)
    assert scored(tmp_path / "copy", needs) == (1, scores)
    (tmp_path / "pool").rename(tmp_path / "moved")
    assert scored(tmp_path / "moved", needs) == (1, scores)


def write_same_size(root: Path, letter: str) -> Path:
    """A pool whose files have one size and time, whatever the letter."""
    samples = [Row(f"{i}", f"u{i}", f"a{letter}{i}", bytes([0xFF, 0xD8, ord(letter)])) for i in range(3)]
    write_tar(root / "shards" / "0.tar", samples)
    (root / "metadata").mkdir()
    table = pa.table({"uid": [f"{i:032x}" for i in range(3)], "text": [sample.text for sample in samples]})
    pq.write_table(table, root / "metadata" / "0.parquet", compression="none", use_dictionary=False)
    for file in root.rglob("*.*"):
        os.utime(file, ns=(10**18, 10**18))
    return root


def put_elsewhere(root: Path) -> Path:
    return write_same_size(root / "other" / "p", "y")


def swap_folders(root: Path) -> Path:
    other = put_elsewhere(root)
    (root / "p").rename(root / "old")
    return other.rename(root / "p")


def edit_in_place(root: Path) -> Path:
    for file in put_elsewhere(root).rglob("*.*"):
        changed = root / "p" / file.relative_to(root / "other" / "p")
        changed.write_bytes(file.read_bytes())
        os.utime(changed, ns=(10**18, 10**18))
    return root / "p"


@pytest.mark.parametrize("replace", [swap_folders, edit_in_place])
def test_equal_names_sizes_and_times_share_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, replace: Callable[[Path], Path]
) -> None:
    first = write_same_size(tmp_path / "p", "x")
    states = sorted((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in first.rglob("*.*"))
    monkeypatch.chdir(tmp_path)
    assert scored("p", "text") == (0, [float(ord("x"))] * 3)
    before = Pool("p", "p")
    layout.identify((*before.tars, *before.metadata))
    texts = before.index(before.tars[0]).texts
    folder = replace(tmp_path)
    assert states == sorted((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in folder.rglob("*.*"))
    monkeypatch.chdir(folder.parent)  # both are typed as p
    assert scored("p", "text") == (0, [float(ord("y"))] * 3)
    after = Pool("p", "p")
    for one, other in zip((*before.tars, *before.metadata), (*after.tars, *after.metadata), strict=True):
        assert (one.name, one.fingerprint) != (other.name, other.fingerprint)
    assert texts != after.index(after.tars[0]).texts


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path) -> None:
    pool = Pool("p", str(write_same_size(tmp_path / "p", "x")))
    tar = pool.tars[0]
    swap_folders(tmp_path)
    assert tar.fingerprint == Pool("p", pool.url).tars[0].fingerprint
    (tmp_path / "p").rename(tmp_path / "away")
    (tmp_path / "old").rename(tmp_path / "p")
    fingerprints.content_hash.cache_clear()
    assert tar.fingerprint != Pool("p", str(tmp_path / "away")).tars[0].fingerprint


def test_a_file_is_read_once_to_know_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = str(write_pool(tmp_path / "pool", [rows(3)]))
    read: list[Path] = []
    monkeypatch.setattr(fingerprints, "hash_file", lambda path: read.append(path) or hash_file(path))
    pool = Pool("p", url)
    known = [shard.fingerprint for shard in layout.identify(pool.tars)]
    fingerprints.content_hash.cache_clear()  # as in the next command
    assert [shard.fingerprint for shard in layout.identify(Pool("p", url).tars)] == known
    assert read == [pool.tars[0].path]
    assert not pool.metadata[0].is_identified
    os.utime(pool.tars[0].path)
    assert [shard.fingerprint for shard in layout.identify(Pool("p", url).tars)] == known
    assert len(read) == 2
