"""The cache folder, and writes that are whole or absent."""

import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import unquote

from benchmark.core.cached_files import CACHE_VERSION, PROJECT, cache_home, is_checked, seal, value_crc
from benchmark.core.errors import UserError, disk_errors_as_one_line
from benchmark.core.temporaries import remove_folder, temporary_beside

CHECKOUT = Path(__file__).resolve().parent.parent.parent
REFERENCE_RESULTS = CHECKOUT / "results" / "reference"  # not in the wheel
FLUSHED_AT_ONCE = 16
# Files of users, or with fingerprints and versions in their names.
_Kept = Literal["augmented", "corenlp", "data", "demo", "exports", "icc", "kept_results", "remote", "sweeps"]
_Computed = Literal[
    "content", "digests", "downloads", "evaluation_images", "evalsets", "features", "fits", "hub", "launches",
    "locks", "matplotlib", "near_images", "parts", "readable", "same_bytes", "scores", "selections", "subsets",
    "survivors", "tar_index", "targets", "torchinductor", "trained", "weak_labels",
]  # fmt: skip
Room = _Kept | _Computed  # the folders of the cache


def cache_dir() -> Path:
    """Return ``$XDG_CACHE_HOME/pairsift``, or below ``~/.cache``. Raises `UserError` for a URL or an unknown home."""
    base = cache_home()
    if "://" in base or base.startswith("~"):
        raise UserError(f"XDG_CACHE_HOME={base} must be a folder of this machine; results_dir may be a URL")
    return Path(base) / PROJECT


def cache_folder(room: Room, *parts: str) -> Path:
    """Return a folder of the cache. Rooms whose files can be computed again have the cache's version in the path."""
    base = cache_dir() if room in get_args(_Kept) else cache_dir() / CACHE_VERSION
    return base.joinpath(room, *parts)


def user_path(text: str | Path) -> Path:
    """Return a path that a user gives, ``file://`` and ``~`` resolved; an unknown user's ``~`` stays as it is."""
    return Path(os.path.expanduser(str(text).removeprefix("file://")))  # noqa: PTH111  pathlib's raises RuntimeError


def mirrors_dir() -> Path:
    """Return the folder with copies of remote folders, each named by its quoted URL."""
    # Not by `cache_dir`: an unusable XDG_CACHE_HOME must not end messages about it.
    return Path(cache_home()) / PROJECT / "remote"


def remote_paths(text: str) -> str:
    """Return `text` with URLs for the paths in copies of remote folders."""
    copies = rf"{re.escape(str(mirrors_dir()))}/\.([^/\s'\"]+)\.[0-9a-f]{{32}}"
    return re.sub(copies, lambda match: unquote(match[1]), text)


def portable_paths(text: str) -> str:
    """Return `text` with paths in the checkout relative to it, and those in the home folder below ``~``.

    Paths in the copy of a remote folder become its URL again.
    """
    home, text = user_path("~"), remote_paths(text)
    text = re.sub(rf"(?<![\w.-]){re.escape(str(CHECKOUT))}/", "", text)
    return text if home == home.parent else re.sub(rf"(?<![\w.-]){re.escape(str(home))}/", "~/", text)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success rename it to `path`, on failure remove it.

    The file gets the process's usual permissions: safetensors alone would write it for the owner only. Raises
    `UnwritableError` where the disk does not take it.
    """
    with disk_errors_as_one_line(path), temporary_beside(path) as temporary:
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)
        put_in_place(temporary, path)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; on success it replaces `path`, on failure it is removed.

    Its files get the process's usual permissions, as in `atomic_write`, which raises the same.
    """
    with disk_errors_as_one_line(path), temporary_beside(path, folder=True) as temporary:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                file.chmod(temporary.stat().st_mode & 0o666)
        put_in_place(temporary, path)


def put_in_place(written: Path, path: Path) -> None:
    """Flush a finished file or folder to the disk and rename it to `path`; in the cache it gets a CRC."""
    if is_checked(path):
        seal(written, path)
    _flush(written)
    if written.is_dir():
        with ThreadPoolExecutor(FLUSHED_AT_ONCE) as threads:  # a disk flushes many in the time of one
            list(threads.map(_flush, written.rglob("*")))
    if path.is_dir():
        remove_folder(path)
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
