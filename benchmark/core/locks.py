"""Locks between processes: one writes a file or folder of the cache while the others wait."""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmark.core.paths import cache_dir

log = logging.getLogger(__name__)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file or folder at `path` while making it.

    Another process may have made it in the meantime: check whether `path` exists before making it. The lock of a
    process that dies is released.
    """
    from filelock import FileLock, Timeout

    name = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:32]
    file = cache_dir() / "locks" / f"{name}.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.info("waiting for another process, which is making %s", path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
