"""Damage to files: what disks, copies and killed programs leave of them."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmark.core.paths import cache_dir


def truncate(path: Path) -> None:
    """Cut a file in two."""
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    """Turn all bits of one byte in a file's middle, as no length tells."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0xFF]))
    os.utime(path)  # a clock of the system's ticks apart


def empty(path: Path) -> None:
    """Leave nothing of a file but its name."""
    os.truncate(path, 0)


Damage = Callable[[Path], None]
DAMAGES: list[Damage] = [truncate, flip, empty]


def cached_files(*left_out: str) -> list[Path]:
    """All files of the cache that hold something, without locks, seals and the rooms that are left out."""
    return [
        path
        for path in sorted(cache_dir().rglob("[!.]*"))
        if path.is_file()
        and path.stat().st_size
        and not {"locks", "sweeps", *left_out} & set(path.relative_to(cache_dir()).parts)
    ]


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[str]:
    """Mount a disk in memory at `folder` for the time of the block; yield why that is refused, else nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True)
    try:
        yield done.stderr.strip() if done.returncode else ""
    finally:
        if not done.returncode:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def small_disk(folder: Path, *options: str) -> Iterator[Path]:
    """Mount a disk in memory at `folder`; skip the test if that is not allowed."""
    with mounted(folder, *options) as refused:
        if refused:
            pytest.skip(f"disks cannot be mounted here: {refused}")
        yield folder
