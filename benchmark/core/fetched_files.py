"""Files of the web that stay: fetched whole or out of a zip, and taken up where an interrupted fetch has stopped.

What a fetch has so far is in ``.NAME.part`` next to the file.
"""

import struct
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_write, put_in_place
from benchmark.core.prefetch import prefetch_map
from benchmark.core.storage import (
    CHUNK,
    CONNECTIONS,
    StorageError,
    download,
    file_name,
    gives_ranges,
    is_remote,
    open_file,
    read_range,
)

_HEADER = struct.Struct(
    "<26x2H"
)  # of a member: 30 bytes, the last of which are the lengths of name and extra field
_PIECE = 1 << 20  # bytes


def fetch_files(files: Mapping[Path, str]) -> None:
    """Fetch each URL to its path, several at a time; files that are there stay. Raises `StorageError`."""
    missing = [path for path in files if not path.is_file()]
    for _ in prefetch_map(lambda path: _fetch(files[path], path), missing, CONNECTIONS):
        pass


def fetch_members(url: str, members: Mapping[Path, str]) -> None:
    """Fetch members of a zip, each to its path, by the ranges of their bytes; files that are there stay.

    Each is checked by its size and CRC. A server without ranges sends the whole zip, which is removed afterwards.
    Raises `StorageError` for a damaged zip or one without a member, and for the network.
    """
    missing = {path: name for path, name in members.items() if not path.is_file()}
    if not missing:
        return
    source = url
    if is_remote(url) and not gives_ranges(url):
        copy = min(missing).with_name(f".{file_name(url)}")
        fetch_files({copy: url})
        source = str(copy)
    try:
        with open_file(source) as file, ZipFile(file) as archive:
            found = {info.filename: info for info in archive.infolist()}
    except (BadZipFile, ValueError) as error:
        raise StorageError(f"{url} must be a zip ({error})") from None
    if absent := set(missing.values()) - found.keys():
        raise StorageError(
            f"{url} has no member {min(absent)}, nor {len(absent) - 1} others that belong there"
        )
    for _ in prefetch_map(
        lambda path: _fetch_member(source, found[missing[path]], path), missing, CONNECTIONS
    ):
        pass
    if source != url:
        Path(source).unlink()


def _part(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{path.name}.part")


def _fetch(url: str, path: Path) -> None:
    part = _part(path)
    download(url, part)
    put_in_place(part, path)


def _fetch_member(url: str, info: ZipInfo, path: Path) -> None:
    start = info.header_offset + _HEADER.size
    start += sum(_HEADER.unpack(read_range(url, info.header_offset, start)))
    end, part = start + info.compress_size, _part(path)
    with part.open("ab") as file:
        for first in range(start + file.tell(), end, CHUNK):
            file.write(read_range(url, first, min(first + CHUNK, end)))
    size = crc = 0
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        for piece in _unpacked(part, info):
            size, crc = size + len(piece), zlib.crc32(piece, crc)
            file.write(piece)
            if size > info.file_size:
                break
        if (size, crc) != (info.file_size, info.CRC):
            part.unlink()
            raise StorageError(
                f"{url}: {info.filename} is damaged, or was fetched in part; run the same command again"
            )
    part.unlink()


def _unpacked(part: Path, info: ZipInfo) -> Iterator[bytes]:
    if info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise UserError(f"{info.filename} is packed by a method that this version cannot read")
    unpack = zlib.decompressobj(-zlib.MAX_WBITS) if info.compress_type == ZIP_DEFLATED else None
    with part.open("rb") as file:
        for raw in iter(partial(file.read, _PIECE), b""):
            try:
                yield unpack.decompress(raw) if unpack else raw
            except zlib.error:
                return  # the CRC tells
