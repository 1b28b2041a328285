"""The cache folder, and writes that are whole or absent."""

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote

from benchmark.core.errors import UserError

PROJECT = "pairsift"
CHECKOUT = Path(__file__).resolve().parent.parent.parent


def cache_dir() -> Path:
    """Return ``$XDG_CACHE_HOME/pairsift`` (default ``~/.cache/pairsift``). Raises `UserError` if it is a URL."""
    base = _cache_home()
    if "://" in base:
        raise UserError(f"XDG_CACHE_HOME={base} must be a folder of this machine; results_dir may be a URL")
    return Path(base) / PROJECT


def _cache_home() -> str:
    return os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")


def mirrors_dir() -> Path:
    """Return the folder with copies of remote folders, each named by its quoted URL."""
    return Path(_cache_home()) / PROJECT / "remote"


def remote_paths(text: str) -> str:
    """Return `text` with URLs for the paths in copies of remote folders."""
    return re.sub(rf"{re.escape(str(mirrors_dir()))}/([^/\s'\"]+)", lambda match: unquote(match[1]), text)


def portable_paths(text: str) -> str:
    """Return `text` with paths in the checkout relative to it, and those in the home folder below ``~``.

    Paths in the copy of a remote folder become its URL again.
    """
    home, text = Path.home(), remote_paths(text)
    text = re.sub(rf"(?<![\w.-]){re.escape(str(CHECKOUT))}/", "", text)
    return text if home == home.parent else re.sub(rf"(?<![\w.-]){re.escape(str(home))}/", "~/", text)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success rename it to `path`, on failure remove it.

    The file gets the process's usual permissions: safetensors alone would write it for the owner only.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Keep the suffix last: numpy and others append theirs to a path without it.
    temporary = path.with_name(f".{path.stem}.{uuid.uuid4().hex}{path.suffix}")
    try:
        temporary.touch()
        mode = temporary.stat().st_mode
        yield temporary
        temporary.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; on success it replaces `path`, on failure it is removed.

    Its files get the process's usual permissions, as in `atomic_write`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    temporary.mkdir()
    try:
        yield temporary
        for file in temporary.rglob("*"):
            if file.is_file():
                file.chmod(temporary.stat().st_mode & 0o666)
        if path.exists():
            shutil.rmtree(path)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` as UTF-8, whole or not at all."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
