"""Files of the web that stay: members of zips, or whole, through ``.NAME.part``, which later fetches continue."""

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from benchmark.core import storage
from benchmark.core.paths import atomic_write, put_in_place
from benchmark.core.prefetch import prefetch_map

# The header of a member has 30 bytes, the last of which are the lengths of name and extra field.
_HEADER = struct.Struct("<26x2H")


def fetch_files(files: Mapping[Path, str]) -> None:
    """Fetch each URL to its path, several at a time; files that are there stay. Raises `StorageError`."""

    def fetch(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        storage.download(files[path], part)
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
        with storage.open_file(url) as file, ZipFile(file) as archive:
            found = {info.filename: info for info in archive.infolist()}
    except (BadZipFile, ValueError) as error:
        raise storage.StorageError(f"{url} must be a zip ({error})") from None
    if absent := set(missing.values()) - found.keys():
        raise storage.StorageError(f"{url} has no member {min(absent)}")
    for _ in prefetch_map(
        lambda path: _fetch_member(url, found[missing[path]], path), missing, storage.CONNECTIONS
    ):
        pass


def _fetch_member(url: str, info: ZipInfo, path: Path) -> None:
    start = info.header_offset + _HEADER.size
    start += sum(_HEADER.unpack(storage.read_range(url, info.header_offset, start)))
    end = start + info.compress_size
    pieces = ((first, min(first + storage.CHUNK, end)) for first in range(start, end, storage.CHUNK))
    data = b"".join(storage.read_range(url, *piece) for piece in pieces)
    try:
        if info.compress_type:
            data = zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, info.file_size + 1)
    except zlib.error:
        data = b""
    if (len(data), zlib.crc32(data)) != (info.file_size, info.CRC):
        raise storage.StorageError(f"{url}: {info.filename} is damaged; run the same command again")
    with atomic_write(path) as temporary:
        temporary.write_bytes(data)
