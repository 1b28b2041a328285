"""Locks between processes: one writes a file or folder of the cache while the others wait.

The empty lock files stay: who unlinks one that others have open must be sure that they notice. Over NFS they do not,
as such a file is only renamed there, and two processes would hold one lock. 100,000 of them take no blocks.
"""

import errno
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from benchmark.core.hashes import hash_text
from benchmark.core.paths import cache_folder

log = logging.getLogger(__name__)
# Of a system call that is missing, of NFS without a lock daemon, and of FUSE.
NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP)
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of the file or folder at `path` while making it.

    Another process may have made it in the meantime: check whether `path` exists before making it. The lock of a
    process that dies is released. On a file system without locks, such as some of clusters, nothing is held: files
    are written whole, so two processes that make the same do so twice. Parts of a pool (``task.shards=3/8``) and
    workers of one run never make the same. In a read-only cache what is there is read without a lock.

    Raises OSError, which names `path`, if it is missing in a read-only cache.
    """
    name = hash_text(str(path.absolute()), 32)
    file = cache_folder("locks") / f"{name}.lock"
    # A file that marks what is held, the fallback, would outlive a process that is killed on another machine.
    lock = FileLock(file, fallback_to_soft=False)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except Timeout:
        log.info("waiting for another process, which is making %s", path)
        lock.acquire()
    except OSError as error:
        if error.errno not in NO_LOCKS and not (error.errno in READ_ONLY and path.exists()):
            error.filename = str(path)
            raise
        log.debug("%s cannot be locked (%s)", path, error)
    try:
        yield
    finally:
        lock.release()
