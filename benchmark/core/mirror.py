"""A remote folder of small files, worked on as a copy in the cache: results, exports, captions."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from benchmark.core.cached_files import read_cached, remove_cached
from benchmark.core.file_systems import is_remote
from benchmark.core.launch import is_main_process
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_write, mirrors_dir, user_path, write_cached
from benchmark.core.prefetch import prefetch_map
from benchmark.core.redaction import redact
from benchmark.core.storage import CONNECTIONS, Entry, check_writable, download, find_file, list_files, upload
from benchmark.core.storage_errors import StorageError

DEPTH = 5  # folders in folders


@contextmanager
def writable_folder(location: str) -> Iterator[Path]:
    """Yield a local folder for `location`: of a remote one its copy, brought up to date before and uploaded after.

    Raises `StorageError` if it cannot be read or written. What a failed block leaves is uploaded by the next call.
    """
    if not is_remote(location):
        yield user_path(location)
        return
    check_writable(location)
    mirror = Mirror(location)
    yield mirror.pull()
    if is_main_process():
        mirror.push()


class Mirror:
    """The copy of a remote folder.

    Args:
        url: fsspec URL of the folder.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        # `remote_paths` reads the URL back from this name.
        self.folder = mirrors_dir() / quote(redact(self.url), safe="")
        self._state_file = self.folder.with_name(f".{self.folder.name}.json")
        self._known: dict[
            str, list[str]
        ] = {}  # the local and the remote version when they were equal, by name

    def pull(self) -> Path:
        """Upload what a killed process left, copy new and changed files, remove deleted ones; return the folder."""
        self.push()
        with self._state():
            files = list_files(self.url, DEPTH)
            stale = [n for n, file in files.items() if self._known.get(n, [""])[-1] != _remote_version(file)]
            for name, version in prefetch_map(lambda n: self._fetch(n, files[n]), stale, CONNECTIONS):
                self._known[name] = [version, _remote_version(files[name])]
            for name in self._known.keys() - files.keys():
                remove_cached(self.folder / name)
                del self._known[name]
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder

    def push(self) -> None:
        """Upload new and changed files."""
        with self._state():
            changed = [
                n for n in self._names() if self._known.get(n, [""])[0] != _local_version(self.folder / n)
            ]
            try:
                for name in changed:
                    version = _local_version(self.folder / name)  # another run may write it during the upload
                    upload(self.folder / name, f"{self.url}/{name}")
                    self._known[name] = [version, _remote_version(find_file(f"{self.url}/{name}"))]
            except StorageError as error:
                raise StorageError(
                    f"{error}; {len(changed)} files wait in {self.folder.parent}, and the next command with"
                    f" {self.url} uploads them"
                ) from error

    def _fetch(self, name: str, file: Entry) -> tuple[str, str]:
        """Copy a file; return its name and the local version of what was copied."""
        with atomic_write(self.folder / name) as temporary:
            download(file.url, temporary)
            version = _local_version(temporary)
        return name, version

    def _names(self) -> list[str]:
        files = (path.relative_to(self.folder) for path in self.folder.rglob("*") if path.is_file())
        return sorted(str(file) for file in files if not any(part.startswith(".") for part in file.parts))

    @contextmanager
    def _state(self) -> Iterator[None]:
        """Hold the folder's lock; read which files are equal here and there, and keep it for the next process."""
        with locked(self.folder):
            self._known = read_cached(self._state_file) or {}
            try:
                yield
            finally:
                write_cached(self._state_file, self._known)


def _local_version(path: Path) -> str:
    stat = path.stat()
    return f"{stat.st_size} {stat.st_mtime_ns}"


def _remote_version(file: Entry) -> str:
    return f"{file.size} {file.written}"
