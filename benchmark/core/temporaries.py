"""Temporary files and folders beside what they become, and the removal of those that killed processes left."""

import logging
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

_NAME = re.compile(r"\..*\.[0-9a-f]{32}(\.[^.]*)?")
ORPHAN_SECONDS = 86_400  # since anything was written to it
log = logging.getLogger(__name__)


def is_temporary(name: str) -> bool:
    """Return whether a file or folder of that name is still being written, or was when its process ended."""
    return _NAME.fullmatch(name) is not None


def whole_files(folder: Path, pattern: str) -> list[Path]:
    """Return the files of that pattern in a folder, in the order of their names, but no temporary ones."""
    return sorted(path for path in folder.glob(pattern) if not is_temporary(path.name))


@contextmanager
def temporary_beside(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a new empty file beside `path`, or a new folder; remove it unless the block has renamed it.

    The first one that a process makes in a folder has others there removed that are a day old.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_orphans(path.parent.absolute())
    # The suffix stays last: numpy and others append theirs to a path without it.
    stem, suffix = (path.name, "") if folder else (path.stem, path.suffix)
    temporary = path.with_name(f".{stem}.{uuid.uuid4().hex}{suffix}")
    temporary.mkdir() if folder else temporary.touch(exist_ok=False)
    try:
        yield temporary
    finally:
        _remove(temporary)


def remove_folder(path: Path) -> None:
    """Remove a folder as a whole: it gets a temporary name, so that no other process sees it half removed.

    Nothing happens where another process has just removed it.
    """
    doomed = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.rename(doomed)
    except FileNotFoundError:
        return
    except OSError:
        doomed = path  # in an overlay, a folder of the lower layer cannot be renamed
    shutil.rmtree(doomed, ignore_errors=doomed != path)  # what is left of a temporary is removed as an orphan


@lru_cache(maxsize=1024)
def _remove_orphans(folder: Path) -> None:
    for path in filter(lambda path: is_temporary(path.name), folder.iterdir()):
        with suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > ORPHAN_SECONDS:
                _remove(path)
                log.info("removed %s, which a killed process left", path)


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
