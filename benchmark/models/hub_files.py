"""Downloaded files of the hub: compared with the hash that names them, once and whenever size or time has changed."""

import hashlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path

from benchmark.core.hashes import hash_file
from benchmark.core.json_text import json_text
from benchmark.core.paths import cache_folder, write_text
from benchmark.core.seals import intact

# The hub's cache names a file by its hash: large files by SHA-256, the others as git does.
_SHA256, _GIT_SHA1 = 64, 40
Stat = list[int]  # bytes, nanoseconds
log = logging.getLogger(__name__)


def without_damaged(files: Iterable[Path]) -> list[Path]:
    """Return the files of a folder of snapshots that are as they were downloaded.

    The others are named in the log and removed, so that the hub's client fetches them again.
    """
    return [file for file in files if _is_whole(file)]


def _is_whole(link: Path) -> bool:
    file = link.resolve()
    if not (seen := _stat(file)):
        return False  # another process has found it damaged
    if len(file.name) not in (_SHA256, _GIT_SHA1) or file.parent.name != "blobs":
        return True  # a copy, as on disks without links: its name is not a hash
    record = cache_folder("hub") / f"{file.name}.json"
    if intact(record) and json.loads(record.read_text()) == seen:
        return True
    if _hash(file, seen[0]) == file.name:
        write_text(record, json_text(seen))
        return True
    if _stat(file) == seen:  # else another process has removed it, and may have fetched it again
        log.warning("%s is damaged: its hash is not that of its download; it is removed", link)
        link.unlink(missing_ok=True)
        file.unlink(missing_ok=True)
    return False


def _stat(file: Path) -> Stat:
    """Return the size and time of a file, nothing if it is not there."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return []
    return [stat.st_size, stat.st_mtime_ns]


def _hash(file: Path, size: int) -> str:
    if len(file.name) == _SHA256:
        return hash_file(file)
    # At most 10 MB are read, above which the hub takes SHA-256.
    return hashlib.sha1(f"blob {size}\0".encode() + file.read_bytes(), usedforsecurity=False).hexdigest()
