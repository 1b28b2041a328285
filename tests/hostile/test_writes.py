"""Files appear whole or not at all: after a kill, on a disk that is full or read-only."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from numpy import testing
from pyarrow import parquet
from safetensors.torch import save_file

from benchmark.core.errors import UnwritableError
from benchmark.core.mapped_files import write_array
from benchmark.core.paths import atomic_folder, atomic_write, write_text
from benchmark.core.temporaries import whole_files
from tests.command_line import Run, assert_one_line
from tests.hostile.damage import small_disk
from tests.pools import rows, write_pool

ROOT = Path(__file__).resolve().parents[2]


def test_files_are_flushed_before_they_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    flush, rename = os.fsync, Path.replace

    def flushed(descriptor: int) -> None:
        calls.append(Path(f"/proc/self/fd/{descriptor}").readlink().suffix or "folder")
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", lambda *paths: calls.append("rename") or rename(*paths))
    write_text(tmp_path / "a.json", "{}")
    assert calls == [".json", "rename", "folder"]
    calls.clear()
    with atomic_folder(tmp_path / "b") as temporary:
        (temporary / "c.bin").touch()
    assert ".bin" in calls[:-2]
    assert calls[-2:] == ["rename", "folder"]


def test_half_written_captions_are_not_read(tmp_path: Path) -> None:
    for name in ("a.parquet", f".b.{'0' * 32}.parquet"):
        (tmp_path / name).touch()
    assert whole_files(tmp_path, "*.parquet") == [tmp_path / "a.parquet"]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("size=64k",), "cannot be written (No space left on device)"),
        (("size=2M",), "the disk is full; make room, or name a folder"),  # by the scores, 20 bytes each
        (("size=2M", "ro"), "cannot be written (Read-only file system)"),
    ],
)
def test_a_cache_that_takes_no_files_is_one_line(
    tmp_path: Path, run: Run, options: tuple[str, ...], line: str
) -> None:
    uids = [f"{number:032x}" for number in range(110_000)]
    (tmp_path / "pool").mkdir()
    parquet.write_table(pa.table({"uid": uids, "text": uids}), tmp_path / "pool" / "0.parquet")
    pool = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", "engine.workers=1"]
    with small_disk(tmp_path / "disk", *options) as disk, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(disk))
        assert_one_line(run("task=score", "filter=random", *pool), line)
        assert not list(disk.rglob("*.parquet"))


def test_a_read_only_cache_that_has_all_is_enough(tmp_path: Path, run: Run) -> None:
    write_pool(tmp_path / "pool", [rows(6), rows(6, start=6)])
    with small_disk(tmp_path / "disk", "size=2M") as disk, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(disk))
        pool = ["pool=img2dataset", f"pool.url={tmp_path / 'pool'}", "engine.workers=1"]
        first = run("task=select", "filter=random", "size=5", *pool)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        again = run("task=select", "filter=random", "size=5", *pool)
        assert (again.returncode, again.stdout) == (0, first.stdout), again.stderr
        for missing, other in {"scores": "filter.seed=1", "selections": "size=4"}.items():
            done = run("task=select", "filter=random", "size=5", *pool, other)
            assert_one_line(done, "the disk is read-only; name a folder that takes files (XDG_CACHE_HOME")
            assert f"/{missing}/" in done.stderr


def test_a_disk_that_fills_up_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random(500_000)
    writers: dict[str, Callable[[Path], object]] = {
        "array": lambda path: np.save(path, numbers),
        "text": lambda path: path.write_text("a" * 4_000_000),
        "parquet": lambda path: parquet.write_table(pa.table({"a": numbers}), path),
        "weights": lambda path: save_file({"a": torch.from_numpy(numbers)}, path),
        "optimizer": lambda path: torch.save({"a": torch.from_numpy(numbers)}, path),
    }
    writers["folder"] = lambda path: (path / "a").write_bytes(bytes(4_000_000))
    with small_disk(tmp_path / "disk", "size=1M") as disk:
        for name, write in writers.items():
            opened = atomic_folder(disk / name) if name == "folder" else atomic_write(disk / f"{name}.npy")
            with pytest.raises(UnwritableError, match="the disk is full"), opened as path:
                write(path)
        with pytest.raises(UnwritableError, match="the disk is full"):  # a mapped one would end the process
            write_array(disk / "a.npy", (500_000,), np.float64, lambda array: testing.assert_equal(array, 0))
        assert list(disk.iterdir()) == []
