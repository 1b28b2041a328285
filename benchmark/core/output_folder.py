"""A folder to write a result to, on this machine or behind an fsspec URL: whole files by their names."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmark.core.errors import UserError
from benchmark.core.file_systems import is_remote
from benchmark.core.paths import atomic_write, user_path
from benchmark.core.storage import list_folder, open_file, upload


class OutputFolder:
    """Writes files named like ``shards/00000000.tar``, each of which appears whole.

    Args:
        location: path or fsspec URL of the folder, which need not exist.
    """

    def __init__(self, location: str | Path) -> None:
        self.location = str(location).rstrip("/")
        if not is_remote(self.location):
            self.location = str(user_path(self.location))
            if Path(self.location).is_file():
                raise UserError(f"{location} is a file; give a folder")

    def __str__(self) -> str:
        return self.location

    def names(self, folder: str = "") -> set[str]:
        """Return the names of the files and folders in it, or in a `folder` of it; hidden ones are left out."""
        entries = list_folder(f"{self.location}/{folder}".rstrip("/"))
        return {entry.name for entry in entries if not entry.name.startswith(".")}

    def read(self, name: str) -> bytes:
        """Return what a file holds."""
        with open_file(f"{self.location}/{name}") as file:
            return file.read()

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
