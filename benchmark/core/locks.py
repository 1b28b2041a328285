"""What several processes want made is made by one of them, while the others wait."""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from benchmark.core.paths import cache_dir

log = logging.getLogger(__name__)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of what is made at `path`.

    Who waited for it has to look whether `path` is there by now. A process that dies holds it no longer.
    """
    name = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:32]
    file = cache_dir() / "locks" / f"{name}.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        log.info("waiting for another process, which makes %s", path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
