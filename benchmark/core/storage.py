"""Files behind fsspec URLs: listed, read by ranges and written, with time-outs and retries.

Every error of the network or the storage becomes a `StorageError` of one line. Local paths work as well.
"""

import errno
import logging
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from stat import S_ISDIR
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, TypeVar, cast
from urllib.parse import SplitResult, urlsplit

import huggingface_hub.constants  # its other parts are imported when they are used

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.paths import user_path
from benchmark.core.prefetch import prefetch_map

CONNECTIONS = 8  # requests at a time
CHUNK = 8 * 2**20  # bytes per request of a whole file
CONNECT_SECONDS, STALL_SECONDS = 10.0, 30.0  # to a connection; without a byte
ATTEMPTS = 5
FIRST_WAIT = 0.5  # seconds before the second attempt; doubled for each further one
MISSING, DENIED = "there is no such file, folder or bucket", "access is denied"
_HTTP, _S3, _GCS, _HUB = ("http", "https"), ("s3", "s3a"), ("gs", "gcs"), "hf"
_LIBRARIES = frozenset(
    {"aiohttp", "aiobotocore", "botocore", "s3fs", "gcsfs", "google", "huggingface_hub", "httpx", "httpx2"}
)
_PASSING = frozenset({408, 425, 429})  # HTTP statuses below 500 after which another attempt may succeed
_FINAL = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError, FileExistsError)
_VERSIONS = ("ETag", "mtime", "LastModified", "updated", "Last-Modified", "blob_id")
_gives_ranges: dict[str, bool] = {}  # by server
T = TypeVar("T")


class StorageError(UserError):
    """Storage that cannot be read or written."""


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


def is_remote(location: str) -> bool:
    """Tell whether `location` is a URL of something else than this machine's files."""
    return "://" in location and not location.startswith("file://")


def local_path(setting: str, location: str) -> Path:
    """Return the path that a setting gives. Raises `UserError`, which names the setting, for a URL."""
    if is_remote(location):
        raise UserError(f"{setting}={location} must be on this machine; copy it from or to there yourself")
    return user_path(location)


def file_name(url: str) -> str:
    """Return the last part of a path, or of a URL without its query."""
    return PurePosixPath(_split(url).path if is_remote(url) else url).name


def _split(url: str) -> SplitResult:
    """Return the parts of a URL. Raises `UserError` if it is not one."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise UserError(f"{url} must be a URL; write / and @ in a password as %2F and %40") from None
    return parts


def list_folder(url: str) -> list[Entry]:
    """Return the files and folders in a folder, sorted by URL; [] if it is missing. A web page lists no sizes."""
    if not is_remote(url):
        # Without fsspec: importing it takes longer than all else in a selection. A link has the size and time of
        # its target; broken links are left out.
        folder = user_path(url).absolute()
        paths = _attempt(url, lambda: sorted(folder.iterdir())) if folder.is_dir() else []
        about = {path: path.stat() for path in paths if path.exists()}
        return [Entry(f"file://{p}", S_ISDIR(of.st_mode), of.st_size, of.st_mtime) for p, of in about.items()]
    filesystem, path = _file_system(url)
    filesystem.invalidate_cache()
    root = path.rstrip("/") + "/"
    try:
        listed = _attempt(url, lambda: filesystem.ls(path, detail=True))
    except StorageError as error:
        if MISSING in str(error):
            return []
        raise
    # Web pages link to elsewhere, too; storages list a folder's own marker as a file in it.
    inside = [
        i for i in listed if i["name"].startswith(root) and "/" not in i["name"][len(root) :].rstrip("/")
    ]
    return sorted((_entry(filesystem, i) for i in inside if i["name"] != root), key=lambda entry: entry.url)


def list_files(url: str, depth: int = 0) -> dict[str, Entry]:
    """Return the files in a folder and its folders down to `depth`, by their paths in it, without hidden files."""
    files: dict[str, Entry] = {}
    for entry in list_folder(url):
        if entry.name.startswith("."):
            continue
        if not entry.is_folder:
            files[entry.name] = entry
        elif depth:
            files |= {f"{entry.name}/{name}": file for name, file in list_files(entry.url, depth - 1).items()}
    return files


def find_file(url: str) -> Entry:
    """Return what is known of one file. Raises `StorageError` without it."""
    filesystem, path = _file_system(url)
    return _entry(filesystem, _attempt(url, lambda: filesystem.info(path)))


def read_range(url: str, start: int, end: int) -> bytes:
    """Return the bytes from `start` to before `end`."""
    filesystem, path = _file_system(url)
    options = {"cache_type": "none"} if _protocol(url) == _HUB else {}  # by default it reads 5 MB more

    def read() -> bytes:
        data: bytes = filesystem.cat_file(path, start=start, end=end, **options)
        if len(data) != end - start:
            raise ConnectionError(f"got {len(data):,} of {end - start:,} bytes")
        return data

    return _attempt(url, read)


def read_ranges(url: str, ranges: Iterable[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of each (start, end) in order, several requests at a time."""
    return prefetch_map(lambda of: read_range(url, *of), ranges, CONNECTIONS)


def gives_ranges(url: str) -> bool:
    """Tell whether parts of files can be read: some HTTP servers send whole files only. A server is asked once."""
    server = urlsplit(url).netloc
    if _protocol(url) in _HTTP and server not in _gives_ranges:
        filesystem, path = _file_system(url)

        def second_byte() -> bytes:
            with filesystem.open(path, "rb", block_size=1, cache_type="none") as file:
                file.seek(1)
                return bytes(file.read(1))

        try:
            _gives_ranges[server] = len(_attempt(url, second_byte)) == 1
        except ValueError:  # fsspec's, when the server begins with the first byte, or gives no size
            _gives_ranges[server] = False
    return _gives_ranges.get(server, True)


def download(url: str, path: Path, entry: Entry | None = None) -> None:
    """Copy a file to `path`, each byte once: what `path` has of it from an earlier attempt is not fetched again.

    `entry` is what is known of the file, if the server has told it. From a server without ranges the file comes in
    one stream, and from its start after an error.
    """
    size = (entry or find_file(url)).size
    if size is not None and gives_ranges(url):
        with path.open("ab") as file:
            starts = range(file.tell(), size, CHUNK)
            for data in read_ranges(url, ((start, min(start + CHUNK, size)) for start in starts)):
                file.write(data)
            if file.tell() <= size:
                return
        path.unlink()
        raise StorageError(f"{url} changed while it was fetched; run the same command again")
    filesystem, remote = _file_system(url)

    def stream() -> None:
        filesystem.get_file(remote, str(path))
        if size is not None and path.stat().st_size != size:
            raise ConnectionError(f"got {path.stat().st_size:,} of {size:,} bytes")

    _attempt(url, stream)


def check_writable(url: str) -> None:
    """Raise `StorageError` for a kind of URL that cannot be written to."""
    if _protocol(url) in _HTTP:
        raise StorageError(f"{url}: HTTP servers are only read from; give a folder, or an s3:// or gs:// URL")


def upload(path: Path, url: str) -> None:
    """Copy a local file to `url`; it appears there whole."""
    check_writable(url)
    filesystem, remote = _file_system(url)
    _attempt(url, lambda: filesystem.put_file(str(path), remote))


@contextmanager
def open_file(url: str, ahead: bool = False) -> Iterator[BinaryIO]:
    """Open a file to read at any offset; a file that only comes whole is first copied to a temporary file.

    Args:
        ahead: whether it is read from front to back: the next `CHUNK` is then fetched while one is read.
    """
    if not is_remote(url):
        with Path(url.removeprefix("file://")).open("rb") as file:
            yield file
        return
    size = find_file(url).size
    if size is not None and gives_ranges(url):
        with _range_file(url, size, ahead) as remote:
            yield remote
        return
    with TemporaryDirectory(prefix="pairsift-") as folder:
        path = Path(folder) / "file"
        download(url, path)
        with path.open("rb") as file:
            yield file


def _range_file(url: str, size: int, ahead: bool) -> BinaryIO:
    """Return a file that is read by ranges: ahead, or without a buffer for parquet's reader of whole columns."""
    from fsspec.spec import AbstractBufferedFile

    class RangeFile(AbstractBufferedFile):  # type: ignore[misc]
        def _fetch_range(self, start: int, end: int) -> bytes:
            return read_range(url, start, min(end, size))  # the last block ends with the file

    cache: dict[str, Any] = {"cache_type": "none"}
    if ahead:
        cache = {"cache_type": "background", "cache_options": {"maxblocks": 2}, "block_size": CHUNK}
    return cast(BinaryIO, RangeFile(*_file_system(url), size=size, **cache))


def _protocol(url: str) -> str:
    return url.partition("://")[0].lower() if is_remote(url) else "file"


def _file_system(url: str) -> tuple[Any, str]:
    """Return the file system of a URL and the path in it. Raises `UserError` if its extra is missing."""
    protocol = _protocol(url)
    options: dict[str, Any] = {}
    if protocol in _HTTP:
        require("http")
        import aiohttp

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=STALL_SECONDS)
        options = {"client_kwargs": {"timeout": timeout, "trust_env": True}}  # proxies and ~/.netrc
    elif protocol in _S3:
        require("cloud", "s3fs")
        timeouts = {"connect_timeout": CONNECT_SECONDS, "read_timeout": STALL_SECONDS}
        options = {"config_kwargs": timeouts | {"retries": {"total_max_attempts": 1}}}  # `_attempt` counts
    elif protocol in _GCS:
        require("cloud", "gcsfs")
        logging.getLogger("gcsfs").setLevel(logging.CRITICAL)  # else it prints what it also raises
    elif protocol == _HUB:
        hub = _hub(huggingface_hub.constants.ENDPOINT)
        return hub, hub._strip_protocol(url)
    import fsspec

    _split(url)
    try:
        system, path = fsspec.core.url_to_fs(url, **options)
    except (ValueError, ImportError) as error:
        raise UserError(f"{url} cannot be opened: {error}") from None
    return system, path


@cache
def _hub(endpoint: str) -> Any:
    """Return the hub's file system, shared by all threads: several would list the repository several times."""
    return huggingface_hub.HfFileSystem(endpoint=endpoint, skip_instance_cache=True)


def _entry(filesystem: Any, info: dict[str, Any]) -> Entry:
    written = next((info[name] for name in _VERSIONS if info.get(name)), None)
    url = filesystem.unstrip_protocol(info["name"].rstrip("/"))
    return Entry(url, info["type"] == "directory", info.get("size"), written)


def _attempt(url: str, action: Callable[[], T]) -> T:
    """Return ``action()``, tried up to `ATTEMPTS` times. Raises `StorageError`, which names `url`."""
    attempts = {"gs": 1, "gcs": 1, _HUB: 2}.get(_protocol(url), ATTEMPTS)  # these try six times themselves
    for number in range(1, attempts + 1):
        try:
            return action()
        except Exception as error:
            if not _is_of_storage(error):
                raise
            reason, is_final = _diagnose(error)
            if reason.startswith(DENIED) and _protocol(url) == _HUB:
                reason = f"{DENIED}; run `hf auth login`, and ask for access on its page"
            if number == attempts or is_final:
                times = f" ({number} attempts)" if number > 1 else ""
                raise StorageError(f"{url}: {reason}{times}") from error
            time.sleep(FIRST_WAIT * 2 ** (number - 1))
    raise AssertionError("unreachable")


def _is_of_storage(error: Exception) -> bool:
    """Return whether an error is of the network or storage, not of the code or of this machine's disk."""
    if isinstance(error, OSError):
        return error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
    return type(error).__module__.partition(".")[0] in _LIBRARIES


def _diagnose(error: Exception) -> tuple[str, bool]:
    """Return what went wrong, and whether another attempt would be in vain."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__) is not None:  # fsspec reports anything as a missing file
        causes.append(cause)
    root, status = causes[-1], next((code for cause in causes if (code := _status(cause))), None)
    no_credentials = "Credentials" in type(root).__name__  # botocore's and Google's share no base class
    missing = status == 404 or (status is None and isinstance(root, FileNotFoundError))
    denied = status in (401, 403) or isinstance(root, PermissionError)
    reasons = {
        MISSING: missing,
        f"{DENIED}{f' ({status})' if status else ''}; check the credentials (docs/own_pool.md)": denied,
        "no credentials were found; set AWS_PROFILE, or see docs/own_pool.md": no_credentials,
        "the host name cannot be resolved": isinstance(root, socket.gaierror),
        "the connection was refused": isinstance(root, ConnectionRefusedError),
        "no answer in time": isinstance(root, TimeoutError),
        f"the server answered {status}": status is not None,
    }
    reason = next((text for text, holds in reasons.items() if holds), f"{type(root).__name__}: {root}")
    if status is not None and status >= 400:
        return reason, status < 500 and status not in _PASSING
    return reason, isinstance(root, _FINAL) or no_credentials or type(root).__name__ == "OfflineModeIsEnabled"


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of the response that an error is about, None without one."""
    response: Any = getattr(error, "response", None)
    if isinstance(response, dict):  # botocore's
        status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    elif type(error).__module__.startswith("gcsfs"):
        status = getattr(error, "code", None)
    else:  # aiohttp's, httpx's
        status = getattr(error, "status", None) or getattr(response, "status_code", None)
    return status if isinstance(status, int) else None
