"""Files of the web that stay: members of zips, or whole; an interrupted fetch is continued."""

import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from benchmark.core import storage
from benchmark.core.fingerprints import file_version
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_write, put_in_place
from benchmark.core.prefetch import prefetch_map


def fetch_files(files: Mapping[Path, str]) -> None:
    """Fetch each URL to its path, several at a time; files that are there stay. Raises `StorageError`."""

    def fetch(path: Path) -> None:
        with locked(path):
            if path.is_file():  # another process has made it meanwhile
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            entry = storage.find_file(files[path])
            part = path.with_name(f".{path.name}.{file_version(entry)}.part")  # of no other version
            storage.download(files[path], part, entry)
            put_in_place(part, path)

    for _ in prefetch_map(fetch, [path for path in files if not path.is_file()], storage.CONNECTIONS):
        pass


def fetch_members(url: str, members: Mapping[Path, str]) -> None:
    """Fetch members of a zip, each to its path, by the ranges of their bytes; files that are there stay.

    Each is checked by its size and CRC. Raises `StorageError` for a damaged zip or one without a member, for a server
    that sends whole files only, and for the network.
    """
    missing = {path: name for path, name in members.items() if not path.is_file()}
    if not missing:
        return
    if not storage.gives_ranges(url):
        path, name = min(missing.items())
        raise storage.StorageError(
            f"the server of {url} sends whole files only; download it, and unzip {name} to {path}"
        )
    try:
        with storage.open_file(url, ahead=True) as file, ZipFile(file) as archive:
            if absent := set(missing.values()) - set(archive.namelist()):
                raise storage.StorageError(f"{url} has no member {min(absent)}")
            for path, name in missing.items():
                try:
                    data = archive.read(name)
                except (BadZipFile, zlib.error, EOFError):
                    raise storage.StorageError(
                        f"{url}: {name} is damaged; run the same command again"
                    ) from None
                with atomic_write(path) as temporary:
                    temporary.write_bytes(data)
    except (BadZipFile, ValueError) as error:
        raise storage.StorageError(f"{url} must be a zip ({error})") from None
