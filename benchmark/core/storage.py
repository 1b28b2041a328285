"""Files behind fsspec URLs: listed, read by ranges and written, with time-outs and retries.

Every error of the network or the storage becomes a `StorageError` of one line. Local paths work as well.
"""

import errno
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISDIR
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

from benchmark.core.errors import UserError
from benchmark.core.file_systems import file_system, is_http, is_remote
from benchmark.core.paths import user_path
from benchmark.core.prefetch import prefetch_map
from benchmark.core.storage_errors import StorageError, attempt

CONNECTIONS = 8  # requests at a time
CHUNK = 8 * 2**20  # bytes per request of a whole file


@dataclass(frozen=True)
class Entry:
    """A file or folder: its URL, whether it is a folder, its size in bytes, and its version or time of writing."""

    url: str
    is_folder: bool
    size: int | None
    written: object

    @property
    def name(self) -> str:
        """The last part of the path."""
        return file_name(self.url)


def local_path(setting: str, location: str) -> Path:
    """Return the path that a setting gives. Raises `UserError`, which names the setting, for a URL."""
    if is_remote(location):
        raise UserError(f"{setting}={location} must be on this machine; copy it from or to there yourself")
    return user_path(location)


def file_name(url: str) -> str:
    """Return the last part of a path, or of a URL without its query."""
    return PurePosixPath(urlsplit(url).path if is_remote(url) else url).name


def list_folder(url: str) -> list[Entry]:
    """Return the files and folders in a folder, sorted by URL; [] if it is missing. A web page tells no sizes."""
    if not is_remote(url):
        folder = user_path(url).absolute()
        return attempt(url, lambda: _list_here(folder)) if folder.is_dir() else []
    filesystem, path = file_system(url)
    filesystem.invalidate_cache()
    root = path.rstrip("/") + "/"
    try:
        listed = attempt(url, lambda: filesystem.ls(path, detail=True))
    except StorageError as error:
        if error.missing:
            return []
        raise
    # Web pages link to elsewhere, too; storages list a folder's own marker as a file in it.
    inside = [
        i for i in listed if i["name"].startswith(root) and "/" not in i["name"][len(root) :].rstrip("/")
    ]
    return sorted((_entry(filesystem, i) for i in inside if i["name"] != root), key=lambda entry: entry.url)


def _list_here(folder: Path) -> list[Entry]:
    """List a folder of this machine; to import fsspec for it takes longer than all else that a selection reads.

    Links have size and time of what they lead to; broken ones, and files that are gone again, are left out.
    """
    entries = []
    for path in sorted(folder.iterdir()):
        try:
            about = path.stat()
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ELOOP):
                raise
            continue
        entries.append(Entry(f"file://{path}", S_ISDIR(about.st_mode), about.st_size, about.st_mtime))
    return entries


def list_files(url: str, depth: int = 0) -> dict[str, Entry]:
    """Return the files in a folder by their paths in it, with those in its folders down to `depth` below it.

    Hidden ones are left out.
    """
    files: dict[str, Entry] = {}
    for entry in list_folder(url):
        if entry.name.startswith("."):
            continue
        if not entry.is_folder:
            files[entry.name] = entry
        elif depth:
            files |= {f"{entry.name}/{name}": file for name, file in list_files(entry.url, depth - 1).items()}
    return files


def with_sizes(entries: Iterable[Entry]) -> list[Entry]:
    """Return the same files with size and version, of which a web page tells nothing."""
    return list(prefetch_map(lambda e: e if e.size is not None else find_file(e.url), entries, CONNECTIONS))


def find_file(url: str) -> Entry:
    """Return what is known of one file. Raises `StorageError` without it."""
    filesystem, path = file_system(url)
    return _entry(filesystem, attempt(url, lambda: filesystem.info(path)))


def read_range(url: str, start: int, end: int) -> bytes:
    """Return the bytes from `start` to before `end`."""
    filesystem, path = file_system(url)

    def read() -> bytes:
        data: bytes = filesystem.cat_file(path, start=start, end=end)
        if len(data) != end - start:
            raise ConnectionError(f"got {len(data):,} of {end - start:,} bytes")
        return data

    return attempt(url, read)


def read_ranges(url: str, ranges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of each (start, end) in order, several requests at a time."""
    return prefetch_map(lambda of: read_range(url, *of), ranges, CONNECTIONS)


def gives_ranges(url: str) -> bool:
    """Tell whether parts of files can be read: some HTTP servers send whole files only. A server is asked once."""
    if not is_http(url):
        return True
    server = urlsplit(url).netloc
    if server not in _gives_ranges:
        _gives_ranges[server] = _answers_range(url)
    return _gives_ranges[server]


_gives_ranges: dict[str, bool] = {}


def _answers_range(url: str) -> bool:
    """Ask an HTTP server for the second byte of a file."""
    filesystem, path = file_system(url)

    def probe() -> bool:
        with filesystem.open(path, "rb", block_size=1, cache_type="none") as file:
            file.seek(1)
            return len(file.read(1)) == 1

    try:
        return attempt(url, probe)
    except ValueError:  # fsspec's, when the server begins with the first byte, or does not tell the size
        return False


def download(url: str, path: Path) -> None:
    """Copy a file to `path`, each byte once: what `path` has of it from an earlier attempt is not fetched again.

    From a server without ranges the file comes in one stream, and from its start after an error.
    """
    size = find_file(url).size
    if size is not None and gives_ranges(url):
        with path.open("ab") as file:
            starts = range(file.tell(), size, CHUNK)
            for data in read_ranges(url, ((start, min(start + CHUNK, size)) for start in starts)):
                file.write(data)
        return
    filesystem, remote = file_system(url)

    def stream() -> None:
        filesystem.get_file(remote, str(path))
        if size is not None and path.stat().st_size != size:
            raise ConnectionError(f"got {path.stat().st_size:,} of {size:,} bytes")

    attempt(url, stream)


def check_writable(url: str) -> None:
    """Raise `StorageError` for a kind of URL that cannot be written to."""
    if is_http(url):
        raise StorageError(f"{url}: HTTP servers are only read from; give a folder, or an s3:// or gs:// URL")


def upload(path: Path, url: str) -> None:
    """Copy a local file to `url`, where it appears whole."""
    check_writable(url)
    filesystem, remote = file_system(url)
    attempt(url, lambda: filesystem.put_file(str(path), remote))


@contextmanager
def open_file(url: str) -> Iterator[BinaryIO]:
    """Open a file to read at any offset; one that only comes whole is first copied to a temporary file."""
    if not is_remote(url):
        with Path(url.removeprefix("file://")).open("rb") as file:
            yield file
        return
    size = find_file(url).size
    if size is not None and gives_ranges(url):
        yield cast(BinaryIO, _RangeFile(url, size))
        return
    with TemporaryDirectory(prefix="pairsift-") as folder:
        path = Path(folder) / "file"
        download(url, path)
        with path.open("rb") as file:
            yield file


class _RangeFile(io.RawIOBase):
    """A file of `size` bytes that is read by ranges, without a buffer: parquet's reader asks for whole columns."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._offset = url, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._offset = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._offset, io.SEEK_END: self._size}[whence]
        return self._offset

    def readinto(self, buffer: Any) -> int:
        end = min(self._offset + len(buffer), self._size)
        if end <= self._offset:
            return 0
        data = read_range(self._url, self._offset, end)
        buffer[: len(data)] = data
        self._offset = end
        return len(data)


def _entry(filesystem: Any, info: dict[str, Any]) -> Entry:
    written = next(
        (
            info[name]
            for name in ("ETag", "mtime", "LastModified", "updated", "Last-Modified")
            if info.get(name)
        ),
        None,
    )
    url = filesystem.unstrip_protocol(info["name"].rstrip("/"))
    is_folder = info["type"] == "directory" or bool(info.get("islink") and filesystem.isdir(info["name"]))
    return Entry(url, is_folder, info.get("size"), written)
