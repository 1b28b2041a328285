"""The cache folder, and writes that are whole or absent."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from benchmark.core.cached_files import (
    CACHE_VERSION,
    PROJECT,
    cache_home,
    is_checked,
    read_cached,
    seal,
    value_crc,
)
from benchmark.core.errors import UserError, disk_errors_as_one_line
from benchmark.core.temporaries import remove, temporary_beside

CHECKOUT = Path(__file__).resolve().parent.parent.parent
REFERENCE_RESULTS = CHECKOUT / "results" / "reference"  # not in the wheel
FLUSHED_AT_ONCE = 16
_POINTER_BYTES = 1024  # of Git LFS, by its specification
# Folders with files of users, or with fingerprints and versions in their names.
_KEPT = {"augmented", "corenlp", "data", "demo", "exports", "icc", "kept_results", "remote", "sweeps"}


def cache_dir() -> Path:
    """Return ``$XDG_CACHE_HOME/pairsift``, or below ``~/.cache``. Raises `UserError` for a URL or an unknown home."""
    base = cache_home()
    if "://" in base or base.startswith("~"):
        raise UserError(f"XDG_CACHE_HOME={base} must be a folder of this machine; results_dir may be a URL")
    return Path(base) / PROJECT


def cache_folder(room: str, *parts: str) -> Path:
    """Return a folder of the cache. Files that can be computed again have the cache's version in the path."""
    base = cache_dir() if room in _KEPT else cache_dir() / CACHE_VERSION
    return base.joinpath(room, *parts)


def user_path(text: str | Path) -> Path:
    """Return a path that a user gives, ``file://`` and ``~`` resolved; an unknown user's ``~`` stays as it is.

    Raises `UserError` as `refuse_pointers`.
    """
    path = Path(os.path.expanduser(str(text).removeprefix("file://")))  # noqa: PTH111  pathlib's raises RuntimeError
    refuse_pointers([path])
    return path


def refuse_pointers(paths: Iterable[Path]) -> None:
    """Raise `UserError` for pointers of Git LFS, which clones without it have in place of large files."""
    files = filter(os.path.isfile, paths)  # pathlib's raises OSError for names that no file can have
    small = (path for path in files if path.stat().st_size < _POINTER_BYTES)
    pointers = sorted(p for p in small if p.read_bytes().startswith(b"version https://git-lfs.github.com/"))
    if pointers:
        others = f" (as are {len(pointers) - 1:,} other files)" if len(pointers) > 1 else ""
        raise UserError(
            f"{pointers[0]} is a Git LFS pointer{others}, not the data; run `git lfs pull` in its repository"
        )


def mirrors_dir() -> Path:
    """Return the folder with copies of remote folders, each named by its quoted URL."""
    # Not by `cache_dir`: an unusable XDG_CACHE_HOME must not end messages about it.
    return Path(cache_home()) / PROJECT / "remote"


def remote_paths(text: str) -> str:
    """Return `text` with URLs for the paths in copies of remote folders."""
    copies = rf"{re.escape(str(mirrors_dir()))}/([^/\s'\"]+)\.[a-z0-9_]{{8}}"
    return re.sub(copies, lambda match: unquote(match[1]), text)


def portable_paths(text: str) -> str:
    """Return `text` with paths in the checkout relative to it, and paths in the home folder below ``~``.

    Paths in the copy of a remote folder become its URL again.
    """
    home, text = user_path("~"), remote_paths(text)
    text = re.sub(rf"(?<![\w.-]){re.escape(str(CHECKOUT))}/", "", text)
    return text if home == home.parent else re.sub(rf"(?<![\w.-]){re.escape(str(home))}/", "~/", text)


@contextmanager
def atomic_write(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a temporary file or folder, which is renamed to `path` on success, and removed on failure.

    Files get the process's usual permissions: safetensors would write them for the owner only. Raises
    `UnwritableError` if the disk does not take it.
    """
    with disk_errors_as_one_line(path), temporary_beside(path, folder=folder) as temporary:
        mode = temporary.stat().st_mode & 0o666
        yield temporary
        for file in (temporary, *temporary.rglob("*")):
            if file.is_file():
                file.chmod(mode)
        put_in_place(temporary, path)


atomic_folder = partial(atomic_write, folder=True)


def put_in_place(written: Path, path: Path) -> None:
    """Flush a finished file or folder to the disk and rename it to `path`; in the cache it gets a CRC."""
    if is_checked(path):
        seal(written, path)
    _flush(written)
    if written.is_dir():
        with ThreadPoolExecutor(FLUSHED_AT_ONCE) as threads:  # a disk flushes many in the time of one
            list(threads.map(_flush, written.rglob("*")))
    if path.is_dir():
        remove(path)
    written.replace(path)
    _flush(path.parent)


def _flush(path: Path) -> None:
    """Wait until the disk has a file, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_cached(path: Path, value: Any) -> None:
    """Write a value of JSON to a file of the cache, for `cached_files.read_cached`."""
    write_text(path, json.dumps({"value": value, "crc32": value_crc(value)}))


def cached_value(path: Path, make: Callable[[], Any]) -> Any:
    """Return the value of JSON in a file of the cache; `make` it if it is missing or damaged."""
    if (value := read_cached(path)) is None:
        write_cached(path, value := make())
    return value
