"""The headers of a tar: where each member lies.

Headers as img2dataset, webdataset, `tar` and Python write them are read here, which takes a fifth of the time that
`tarfile` needs. From the first that is anything else on (a link, a long name, a sparse file, damage) it is
`benchmark.core.tar_members`, the one reader of untrusted headers.
"""

import io
import re
import tarfile
import zlib
from collections import Counter
from collections.abc import Generator, Iterator
from typing import BinaryIO

from benchmark.core.tar_members import BLOCK, Member, padded, tar_members

_FILE, _FOLDER, _EXTENDED = b"0", b"5", b"x"
_SPACES = sum(b" " * 8)  # what the field of the checksum counts as
# POSIX ustar, with the variations of GNU and BSD: octal numbers of full width that end in a NUL or a space.
_NUMBERS = rb"(?:[0-7]{6}[0-7\0 ][\0 ]){3}([0-7]{11})[\0 ][0-7]{11}[\0 ]([0-7]{6})\0 "
_DEVICE = rb"(?:[0-7]{7}\0|\0{8})"
_NAME, _PREFIX = rb"(?=([^\0]{0,100})).{100}", rb"(?=([^\0]{0,155})).{155}"
_HEADER = re.compile(rb"(?s)" + _NAME + _NUMBERS + rb"([05x]).{172}" + _DEVICE * 2 + _PREFIX + rb".{12}")


def read_members(file: BinaryIO, drops: Counter[str]) -> Iterator[Member]:
    """Yield the regular members of a tar; a broken stretch is counted in `drops` and skipped.

    The caller may read from `file` between two members.
    """
    stopped = yield from plain_members(file)
    file.seek(stopped)
    rest = file.read(tarfile.RECORDSIZE + 1)
    if not (BLOCK <= len(rest) <= tarfile.RECORDSIZE) or rest.strip(b"\0"):
        yield from tar_members(file, drops, stopped)


def plain_members(file: BinaryIO) -> Generator[Member, None, int]:
    """Yield the members up to the first header that is not a plain one, or the end; return where that begins.

    `file` is a tar, or members of one in a row.
    """
    size, at = file.seek(0, io.SEEK_END), 0
    # Where times are fractions, each member has an extended header with its time alone, as webdataset writes it. Most
    # are the same as the one before, and not parsed again. The data begin with `time`, and take `length` bytes.
    extended: bytes | None = None
    time, length = b"", 0
    while at < size:
        start = at
        file.seek(at)
        blocks = file.read(3 * BLOCK)
        block = blocks[:BLOCK]
        if block != extended:
            kind, name, data = _parse(block)
            if kind == _EXTENDED:
                extended, time, length = block, b"%d mtime=" % data, data
        if block == extended:
            if not blocks.startswith(time, BLOCK) or blocks[BLOCK : 2 * BLOCK][length - 1 : length] != b"\n":
                return start
            at += 2 * BLOCK
            kind, name, data = _parse(blocks[2 * BLOCK :])
        at += BLOCK
        end = at + padded(data)
        if end > size or kind not in (_FILE, _FOLDER) or (kind == _FOLDER and data):
            return start
        if kind == _FILE:
            yield Member(name, start, at, data, end)
        at = end
    return at


def _parse(block: bytes) -> tuple[bytes, str, int]:
    """Return kind, name and size of a member by its header; the kind is empty unless it is a plain one."""
    match = _HEADER.fullmatch(block)
    if match is None or not block.isascii():
        return b"", "", 0
    name, size, checksum, kind, prefix = match.groups()
    # The lower half of this is one more than the sum of the bytes, which in ASCII are too few to overflow it.
    total = zlib.adler32(block[156:], zlib.adler32(block[:148])) & 0xFFFF
    if total + _SPACES != int(checksum, 8) + 1:
        return b"", "", 0
    path = prefix + b"/" + name if prefix else name
    return kind, path.decode(), int(size, 8)
