"""Fingerprints of files: a hash of the content if the file is local, read once; else size and version."""

from functools import cache
from pathlib import Path

from benchmark.core.cached_files import read_cached
from benchmark.core.hashes import hash_file, hash_json
from benchmark.core.paths import cache_folder, write_cached
from benchmark.core.sanitize import redact
from benchmark.core.storage import Entry, find_file, is_remote


def file_version(file: Entry) -> str:
    """Return what changes when a file is written, and with its place, without reading it."""
    if not is_remote(file.url):
        return local_version(Path(file.url.removeprefix("file://")))
    if file.size is None:  # a web page lists neither sizes nor versions
        file = find_file(file.url)
    return hash_json([redact(file.url), file.size, str(file.written)], 16)


def local_version(path: Path) -> str:
    """Return the version of a local file, see `file_version`."""
    stat = path.stat()
    times = [stat.st_mtime_ns, stat.st_ctime_ns]  # the second cannot be set
    return hash_json([str(path.resolve()), stat.st_ino, stat.st_size, *times], 16)


def digest_path(version: str) -> Path:
    """Return the file of the cache that holds the hash of a local file of that version, once it is known."""
    return cache_folder("digests", version[:2]) / f"{version}.json"


@cache
def content_hash(path: Path, version: str) -> str:
    """Return the hash of a local file's content, which is read for it once per version."""
    cached = digest_path(version)
    if (known := read_cached(cached)) is None:
        try:
            known = hash_file(path)[:16]
            if local_version(path) == version:  # else it has just changed
                write_cached(cached, known)
        except OSError:
            return version  # counted when it is scored
    return str(known)
