"""Folders that results are written to, on this machine or behind an fsspec URL."""

import json
import uuid
from collections import deque
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.core.paths import atomic_write, cache_folder, mirrors_dir, user_path
from benchmark.core.prefetch import prefetch_map
from benchmark.core.sanitize import redact
from benchmark.core.storage import (
    CONNECTIONS,
    StorageError,
    check_writable,
    download,
    is_remote,
    list_files,
    list_folder,
    open_file,
    upload,
)

DEPTH = 5  # folders in folders


@contextmanager
def local_copy(location: str, depth: int = DEPTH) -> Iterator[Path]:
    """Yield a local folder for a path or URL: of a remote folder a copy, `depth` folders deep, which is then removed.

    Raises `StorageError` if it cannot be read.
    """
    if not is_remote(location):
        yield user_path(location)
        return
    mirrors_dir().mkdir(parents=True, exist_ok=True)
    # `remote_paths` reads the URL back from this name.
    name = quote(redact(location.rstrip("/")), safe="") + "."
    with TemporaryDirectory(prefix=name, dir=mirrors_dir()) as temporary:
        folder = Path(temporary)
        files = list_files(location.rstrip("/"), depth) if is_main_process() else {}
        for name in files:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        deque(prefetch_map(lambda n: download(files[n].url, folder / n), files, CONNECTIONS), maxlen=0)
        yield folder


@contextmanager
def writable_folder(location: str, depth: int = DEPTH) -> Iterator[Path]:
    """Yield the `local_copy` of a folder; when the block ends, what was written there is uploaded.

    Raises `StorageError` if the folder cannot be read or written; it names the folder that has what was not uploaded.
    """
    check_writable(location)
    with local_copy(location, depth) as folder:
        copied = _versions(folder) if is_remote(location) else {}
        try:
            yield folder
        finally:
            if is_remote(location) and is_main_process():
                changed = dict(_versions(folder).items() - copied.items())
                _upload(folder, location.rstrip("/"), changed)


def _versions(folder: Path) -> dict[str, tuple[object, object]]:
    """Return size and time of each file in a folder by its path there; hidden files are left out."""
    return {name: (file.size, file.written) for name, file in list_files(str(folder), DEPTH).items()}


def _upload(folder: Path, url: str, names: Collection[str]) -> None:
    try:
        for name in names:
            upload(folder / name, f"{url}/{name}")
    except StorageError as error:
        kept = cache_folder("kept_results", uuid.uuid4().hex)
        kept.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(kept)
        raise StorageError(
            f"{error}; copy the {len(names)} new files from {kept} to {url} yourself"
        ) from error


class OutputFolder:
    """A folder, given by path or URL. Files such as ``shards/00000000.tar`` are written to it whole."""

    def __init__(self, location: str | Path) -> None:
        self.location = str(location).rstrip("/")
        if not is_remote(self.location):
            self.location = str(user_path(self.location))
            if Path(self.location).is_file():
                raise UserError(f"{location} is a file; give a folder")

    def names(self, folder: str = "") -> set[str]:
        """Return the names of the files and folders in it, or in a `folder` of it; hidden names are left out."""
        entries = list_folder(f"{self.location}/{folder}".rstrip("/"))
        return {entry.name for entry in entries if not entry.name.startswith(".")}

    def read(self, name: str) -> bytes:
        """Return what a file holds."""
        with open_file(f"{self.location}/{name}") as file:
            return file.read()

    def read_json(self, name: str) -> dict[str, Any]:
        """Return the object in a file of JSON; {} if the file is missing, or holds anything else."""
        folder, _, base = name.rpartition("/")
        try:
            value = json.loads(self.read(name)) if base in self.names(folder) else {}
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @contextmanager
    def write(self, name: str) -> Iterator[Path]:
        """Yield a local path for the contents of a file, which is put in its place on success."""
        if not is_remote(self.location):
            with atomic_write(Path(self.location) / name) as path:
                yield path
            return
        with TemporaryDirectory(prefix="pairsift-") as folder:
            path = Path(folder) / Path(name).name
            yield path
            upload(path, f"{self.location}/{name}")

    def write_text(self, name: str, text: str) -> None:
        """Write a file of text as UTF-8."""
        with self.write(name) as path:
            path.write_text(text, encoding="utf-8")
