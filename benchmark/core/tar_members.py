"""The files in a tar, whatever its headers say, read in linear time and bounded memory; and written.

`tarfile` is not used on files of others: a size below zero or a long number in an extended header keeps it busy for
ever (CVE-2025-8194, CVE-2024-6232), and an extended header of any length comes into memory. This reader finds the
files that `tarfile` finds. An impossible header costs only its own file: the search goes on behind its header. Global
headers are skipped: only names and sizes count here, and no name or size is that of all files.
"""

import io
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from benchmark.core.batch import SHARD_CORRUPT

BLOCK = 512
MAX_EXTENDED = 2**20  # bytes of an extended header or a long name: what Go's reader allows, too
_FILES = frozenset({b"0", b"\0", b"7"})
_WITHOUT_DATA = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})  # links, devices, folders, pipes
_LONG_NAME, _SPARSE = b"L", b"S"
_OF_GNU = frozenset({_LONG_NAME, _SPARSE, b"K"})  # have no prefix
_BEFORE_A_FILE = frozenset({_LONG_NAME, b"x", b"X"})
_CHECKSUM = slice(148, 156)
# The size, and the other fields that must be numbers: mode, owner, group, time of writing, device.
_NUMBERS = (slice(124, 136), *map(slice, (100, 108, 116, 136, 329, 337), (108, 116, 124, 148, 337, 345)))
_SPACES = sum(b" " * 8)  # what the field of the checksum counts as
_LOWER_HALF = bytes(range(128))
_ABSURD = 2**62  # bytes of a member; numbers in headers may have 88 bits
_DIGITS = 20  # of a number in an extended header: as many as 64 bits need


class Member(NamedTuple):
    """A regular file in a tar."""

    name: str  # its path in the tar
    start: int  # offset of its header, or of the first extended header before it
    offset: int  # offset of its data
    size: int  # of its data, in bytes
    end: int  # offset of the next header, after the padding


def split_name(name: str) -> tuple[str, str]:
    """Return the key and the extension of a member by webdataset's rule: the first dot of a file's name ends the key.

    A file lacks a name before that dot if another program hides it, as macOS does with ``._0.jpg``.
    """
    folder, slash, base = name.rpartition("/")
    stem, _, extension = base.partition(".")
    return f"{folder}{slash}{stem}", extension


@dataclass
class _Extension:
    """What the headers before that of a file say of it; None for nothing."""

    start: int  # of the first of these headers
    name: str | None = None
    size: int | None = None
    broken: bool = False  # whether name, size or layout of the file are unknown

    def add(self, kind: bytes, content: bytes) -> None:
        """Add what a header of this kind, with this content, says of the file; a later one counts."""
        if kind == _LONG_NAME:
            self.name = _text(content)
            return
        try:
            records = _records(content)
            if b"path" in records:
                self.name = records[b"path"].decode(errors="surrogateescape")
            if b"size" in records:
                self.size = _decimal(records[b"size"])
        except ValueError:
            self.broken = True
        else:
            self.broken |= any(keyword.startswith(b"GNU.sparse.") for keyword in records)


def tar_members(file: BinaryIO, drops: Counter[str]) -> Iterator[Member]:
    """Yield the regular files that are whole.

    Damage, a cut end included, is counted once in `drops`. The caller may read from `file` between two members.
    """
    length = file.seek(0, io.SEEK_END)
    at = expected = 0  # where the next header is searched, and its expected offset
    corrupt = False
    extension: _Extension | None = None
    while len(block := _read(file, at, BLOCK)) == BLOCK:
        if (header := _parse(block)) is None:
            at += BLOCK
            continue
        if at != expected:
            corrupt, extension = True, None
        extension = extension or _Extension(at)
        kind, name, own_size = header
        before_a_file = kind in _BEFORE_A_FILE
        stated = own_size if extension.size is None or before_a_file else extension.size
        data, size = at + BLOCK, 0 if kind in _WITHOUT_DATA else stated
        whole = data + size <= length
        at = expected = data + size + -size % BLOCK if whole else data
        if not whole or kind == _SPARSE or (before_a_file and size > MAX_EXTENDED):
            extension.broken = True
        elif before_a_file:
            extension.add(kind, _read(file, data, size))
        if before_a_file:
            continue
        if kind in _FILES and not extension.broken:
            yield Member(extension.name or name, extension.start, data, size, expected)
        corrupt |= extension.broken
        extension = None
    if corrupt or extension is not None or _read(file, expected, BLOCK) != bytes(BLOCK):
        drops[SHARD_CORRUPT] += 1


def _read(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)


def _parse(block: bytes) -> tuple[bytes, str, int] | None:
    """Return the letter of the kind, the name and the size that a header states; None for a block that is not one.

    The bytes of a header add up to its checksum, as unsigned bytes or, by some programs, as signed bytes.
    """
    rest, checksum = block[:148] + block[156:], _number(block[_CHECKSUM])
    excess = sum(rest) + _SPACES - (checksum or 0)
    if checksum is None or excess not in (0, 256 * len(rest.translate(None, _LOWER_HALF))):
        return None
    size, *others = (_number(block[field]) for field in _NUMBERS)
    if size is None or not 0 <= size < _ABSURD or None in others:
        return None
    name, kind = _text(block[:100]), block[156:157]
    if kind == b"\0" and name.endswith("/"):  # a folder, in the oldest tars
        kind = b"5"
    if kind not in _OF_GNU and (prefix := _text(block[345:500])):
        name = f"{prefix}/{name}"
    return kind, name, size


def _number(field: bytes) -> int | None:
    """Return a number in octal digits, or in base 256 as GNU tar writes long numbers; None if it is neither."""
    if field[0] in (0x80, 0xFF):
        return int.from_bytes(field[1:], "big") - (256 ** (len(field) - 1) if field[0] == 0xFF else 0)
    digits = field.partition(b"\0")[0].strip()
    return None if digits.strip(b"01234567") else int(digits or b"0", 8)


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="surrogateescape")


def _records(content: bytes) -> Mapping[bytes, bytes]:
    """Return the values of an extended header by keyword. Raises ValueError unless it consists of records."""
    records, at = {}, 0
    while at < len(content):
        space = content.find(b" ", at, at + _DIGITS + 1)
        end = at + _decimal(content[at:space] if space >= 0 else b"")
        equals = content.find(b"=", space, end)
        if equals < 0 or content[end - 1 : end] != b"\n":
            raise ValueError("not a record of an extended header")
        records[content[space + 1 : equals]] = content[equals + 1 : end - 1]
        at = end
    return records


def _decimal(digits: bytes) -> int:
    """Return a number of ASCII digits. Raises ValueError for anything else, and for one of more than 64 bits."""
    if not digits.isdigit() or len(digits) > _DIGITS:
        raise ValueError("not a number")
    return int(digits)


def tar_blocks(key: str, members: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield the blocks of a sample's files, given by extension; time and owner are zero."""
    for extension, data in members.items():
        member = tarfile.TarInfo(f"{key}.{extension}")
        member.size = len(data)
        yield member.tobuf()
        yield data
        yield bytes(-len(data) % BLOCK)
