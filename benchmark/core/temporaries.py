"""Temporary files and folders in the folder of their final path."""

import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NAME = re.compile(r"\..*\.[0-9a-f]{32}(\.[^.]*)?")


def is_temporary(name: str) -> bool:
    """Return whether a file or folder of that name is still being written, or was when its process ended."""
    return _NAME.fullmatch(name) is not None


def whole_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files of that pattern in a folder, in the order of their names, without temporary files."""
    return sorted(path for path in folder.glob(pattern) if not is_temporary(path.name))


@contextmanager
def temporary_beside(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a new empty file in the folder of `path`, or a new folder; remove it unless the block has renamed it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The suffix stays last: numpy and others append theirs to a path without it.
    stem, suffix = (path.name, "") if folder else (path.stem, path.suffix)
    temporary = path.with_name(f".{stem}.{uuid.uuid4().hex}{suffix}")
    temporary.mkdir() if folder else temporary.touch(exist_ok=False)
    try:
        yield temporary
    finally:
        remove(temporary)


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there: a folder under a temporary name, so that nobody sees half of it."""
    if path.is_dir() and not path.is_symlink():
        with suppress(OSError):  # another process was first, or an overlay has the folder in its lower layer
            path = path.rename(path.with_name(f".{path.name}.{uuid.uuid4().hex}"))
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
