"""Tars as an attacker, a full disk or a broken download may leave them; each is about as long as the clean one."""

import random
import tarfile
from collections.abc import Callable, Mapping
from functools import partial

from tests.pools import Row, rows

BLOCK = 512
LENGTH = 2**18  # of every tar, about, in bytes
END = bytes(2 * BLOCK)
FIRST, *OTHERS, LAST = rows(12)  # the samples before and after what is hostile, and some more


def header(name: str = "odd", kind: bytes = b"0", size: int | bytes = 0) -> bytes:
    """A header with a right checksum; `size` as a number, or as the 12 bytes of its field."""
    block = bytearray(tarfile.TarInfo(name).tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"%011o\0" % size if isinstance(size, int) else size
    block[156:157] = kind
    return with_checksum(block)


def with_checksum(block: bytearray) -> bytes:
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def member(data: bytes, name: str = "odd", kind: bytes = b"0") -> bytes:
    return header(name, kind, len(data)) + aligned(data)


def aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % BLOCK)


def sample(row: Row) -> bytes:
    return b"".join(member(data, f"{row.key}.{extension}") for extension, data in row.members().items())


def clean() -> bytes:
    """Small samples, and so many headers."""
    return filled(b"".join(map(sample, (FIRST, *OTHERS, LAST)))) + END


def filled(data: bytes) -> bytes:
    """Repeat `data` to about `LENGTH`."""
    return data * (LENGTH // len(data))


def base_256(number: int) -> bytes:
    """A size as GNU tar writes numbers that are too long for octal digits, 12 bytes."""
    return (number % 2**88 | (0x80 if number >= 0 else 0xFF) << 88).to_bytes(12, "big")


def record(keyword: str, value: bytes) -> bytes:
    """A record of an extended header, which begins with its own length."""
    rest = b" %s=%s\n" % (keyword.encode(), value)
    length = len(rest)
    while length != len(rest) + len(str(length)):
        length = len(rest) + len(str(length))
    return b"%d%s" % (length, rest)


def extended(*records: bytes, kind: bytes = b"x") -> bytes:
    return member(b"".join(records), "PaxHeader", kind)


def between(odd: bytes) -> bytes:
    """A tar with something odd between two good samples."""
    return sample(FIRST) + odd + sample(LAST) + END


def noise(length: int) -> bytes:
    return random.Random(0).randbytes(length)


KINDS = {"file": b"0", "folder": b"5", "extended": b"x", "global": b"g", "long name": b"L", "sparse": b"S"}
SIZES = {"-1": -1, "-512": -512, "2**40": 2**40, "2**87": 2**87}
DIGITS = b"1" * (LENGTH - BLOCK)


def of_size(kind: str, size: str) -> bytes:
    return filled(header("odd", KINDS[kind], base_256(SIZES[size]))) + header()


# What lies between two samples. Both are read, and one damage is counted.
DAMAGE: Mapping[str, Callable[[], bytes]] = {
    **{
        f"{kind} of {size} bytes": partial(of_size, kind, size)
        for kind in KINDS
        for size in SIZES
        if (kind, size) != ("folder", "2**40")  # a folder has no data, whatever its size
    },
    "a record of size -512": lambda: filled(extended(record("size", b"-512")) + header()),
    "a record of size -2**60": lambda: filled(extended(record("size", b"-%d" % 2**60)) + header()),
    "a record of size 10**4000": lambda: filled(extended(record("size", b"1" + b"0" * 4000)) + header()),
    "a record of size text": lambda: filled(extended(record("size", b"many")) + header()),
    "a record without end": lambda: filled(extended(b"99 path=odd") + header()),
    "a record of no bytes": lambda: filled(extended(b"0 path=odd\n") + header()),
    "digits without end": lambda: extended(DIGITS) + header(),
    "digits before hdrcharset": lambda: extended(DIGITS + b" hdrcharset") + header(),
    "digits of a sparse offset": lambda: (
        extended(record("GNU.sparse.size", b"1"), b"1 GNU.sparse.offset=" + DIGITS[:-BLOCK]) + header()
    ),
    "a sparse file of many numbers": lambda: (
        extended(record("GNU.sparse.major", b"1"), record("GNU.sparse.minor", b"0"))
        + member(b"9" * 9 + b"\n" + b"1\n" * (LENGTH // 2))
    ),
    "a sparse map of many numbers": lambda: (
        extended(record("GNU.sparse.map", b"1," * (LENGTH // 2 - BLOCK) + b"1")) + header()
    ),
    "sparse headers without end": lambda: header("odd", b"S")[:482] + b"\1" * (LENGTH - 482),
    "noise": lambda: noise(LENGTH),
    "noise with headers": lambda: aligned(filled(noise(700) + header())),
    "wrong checksums": lambda: filled(header()[:-1] + b"\1"),
}
# The same, but nothing is damaged.
ODD: Mapping[str, Callable[[], bytes]] = {
    "a folder with a size": lambda: of_size("folder", "2**40"),
    "links with a size": lambda: filled(header("odd", b"2", 2**30)),
    "empty files": lambda: filled(header()),
    "empty files of many names": lambda: b"".join(header(f"{n}") for n in range(LENGTH // BLOCK)),
    "one key, used again and again": lambda: filled(header("odd.jpg")),
    "extended headers in a row": lambda: filled(extended(record("comment", b"-"))) + header(),
    "extended headers of no bytes": lambda: filled(header("odd", b"x")) + header(),
    "long names in a row": lambda: filled(member(b"n" * 99, kind=b"L")) + header(),
    "a name as long as allowed": lambda: member(b"n" * (LENGTH - BLOCK), kind=b"L") + header(),
    "global headers in a row": lambda: filled(extended(record("comment", b"-"), kind=b"g")),
    "a global header before many": lambda: (
        extended(*(record(f"k{n}", b"v") for n in range(LENGTH // 30)), kind=b"g")
        + extended(record("comment", b"-")) * (LENGTH // 4 // BLOCK)
        + header()
    ),
    "a global header that is text": lambda: member(b"\xff" * 99, kind=b"g"),
}
