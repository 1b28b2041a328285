"""Temporary files and folders beside what they become, and the removal of those that killed processes left.

The writer holds a lock on its temporary file, which ends with the process. One that is older than a minute and not
locked is an orphan.
"""

import fcntl
import logging
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

_NAME = re.compile(r"\..*\.[0-9a-f]{32}(\.[^.]*)?")
NEW_SECONDS = 60  # so old may a file be before its writer holds its lock
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

    The first one that a process makes in a folder has the orphans there removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_orphans(path.parent.absolute())
    # The suffix stays last: numpy and others append theirs to a path without it.
    stem, suffix = (path.name, "") if folder else (path.stem, path.suffix)
    temporary = path.with_name(f".{stem}.{uuid.uuid4().hex}{suffix}")
    temporary.mkdir() if folder else temporary.touch(exist_ok=False)
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks: its orphans stay
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield temporary
    finally:
        os.close(descriptor)
        if folder:
            shutil.rmtree(temporary, ignore_errors=True)
        else:
            temporary.unlink(missing_ok=True)


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
        is_folder = path.is_dir()
        with suppress(OSError):  # held by its writer, or removed by another process
            if time.time() - path.stat().st_mtime < NEW_SECONDS:
                continue
            # Some network file systems lock for writing only what is open for writing.
            descriptor = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path) if is_folder else path.unlink()
                log.info("removed %s, which a killed process left", path)
            finally:
                os.close(descriptor)
