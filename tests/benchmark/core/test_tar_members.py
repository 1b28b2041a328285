"""Members of tars, plain and hostile: the reader finds the files that `tarfile` finds."""

import io
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.core.tar_members import Member, tar_members

Change = Callable[[bytearray], bytes]


def tar(form: int = tarfile.GNU_FORMAT, mtime: float = 0.0) -> bytearray:
    """Six members, two of them in nested folders."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for number, name in enumerate(("a.jpg", "a.txt", "x/y.z/b.jpg", "x/y.z/b.json", "a.jpg", "c.jpg")):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = 1300 - 256 * number, mtime
            archive.addfile(member, io.BytesIO(bytes([number]) * member.size))
    return bytearray(file.getvalue())


def plain_tarfile(data: bytes) -> tuple[list[Member], bool, bool]:
    """The whole files that `tarfile` finds, whether the tar is damaged, and whether `tarfile` gave up."""
    members, expected, damaged = [], 0, False
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:", ignore_zeros=True) as archive:
            for member in archive:
                whole = member.size >= 0 and member.offset_data + member.size <= len(data)
                damaged |= member.offset != expected or not whole or member.issparse()
                has_data = member.isreg() or member.type not in tarfile.SUPPORTED_TYPES
                expected = member.offset_data + (member.size + -member.size % 512) * has_data
                if whole and member.isreg() and not member.issparse():
                    found = Member(member.name, member.offset, member.offset_data, member.size, expected)
                    members.append(found)
    except tarfile.TarError:
        return members, True, True
    return members, damaged or data[expected : expected + 512] != bytes(512), False


def second_header(data: bytes) -> int:
    return data.index(b"a.txt")


def inserted(data: bytes, block: bytes) -> bytes:
    start = second_header(data)
    return bytes(data[:start]) + block + bytes(data[start:])


def with_field(offset: int, value: bytes) -> Change:
    """Change a field of the second header, and its checksum accordingly."""

    def change(data: bytearray) -> bytes:
        start = second_header(data)
        data[start + offset : start + offset + len(value)] = value
        header = data[start : start + 512]
        total = sum(header[:148]) + sum(header[156:]) + 8 * 32
        data[start + 148 : start + 156] = b"%06o\0 " % total
        return bytes(data)

    return change


CHANGES: dict[str, Change] = {
    "unchanged": bytes,
    "truncated in data": lambda data: bytes(data[:2900]),
    "truncated in a header": lambda data: bytes(data[:2100]),
    "no end": lambda data: bytes(data).rstrip(b"\0"),
    "short end": lambda data: bytes(data).rstrip(b"\0") + bytes(700),
    "long end": lambda data: bytes(data) + bytes(30_000),
    "odd blocks": lambda data: inserted(data, b"\xff" * 700),
    "a checksum that is wrong": lambda data: bytes(data).replace(b"a.txt", b"b.txt"),
    "a size beyond the file": with_field(124, b"77777777777\0"),
    "a size of another width": with_field(124, b"2014 \0\0\0\0\0\0\0"),
    "a size in base 256": with_field(124, b"\x80" + bytes(9) + b"\x04\x14"),
    "a size that is no number": with_field(124, b"1_024abcdef\0"),
    "a size with a sign": with_field(124, b"-0000000024\0"),
    "a mode that is no number": with_field(100, b"rw-r--r-"),
    "a device that is no number": with_field(329, b"\xff" * 8),
    "a link": with_field(156, b"2"),
    "a folder": with_field(156, b"5"),
    "a sparse file": with_field(156, b"S"),
    "a long name": with_field(156, b"L"),
    "an unknown kind": with_field(156, b"Z"),
    "a prefix": with_field(345, b"some/folder"),
    "a name that is not ASCII": with_field(0, "é漢.jpg".encode()),
    "a name that is not UTF-8": with_field(0, b"\xff\xfe.jpg"),
    "a name without an end": with_field(0, b"n" * 100),
}


@pytest.mark.parametrize("mtime", [0.0, 1.25])
@pytest.mark.parametrize("change", CHANGES)
def test_members_are_those_of_tarfile(change: str, mtime: float) -> None:
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        data = CHANGES[change](tar(form, mtime))
        theirs, damaged, gave_up = plain_tarfile(data)
        drops = Counter[str]()
        ours = list(tar_members(io.BytesIO(data), drops))
        assert ours[: len(theirs)] == theirs
        assert gave_up or len(ours) == len(theirs)
        assert drops["shard_corrupt"] == damaged


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
    st.sampled_from([0.0, 1.25]),
    st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_random_damage_costs_only_the_files_that_it_touches(
    form: int, mtime: float, damage: list[tuple[int, int]]
) -> None:
    whole = bytes(tar(form, mtime))
    data, members = bytearray(whole), list(tar_members(io.BytesIO(whole), Counter()))
    for offset, value in damage:
        data[offset % len(data)] = value
    untouched = [m for m in members if data[m.start : m.offset] == whole[m.start : m.offset]]
    drops = Counter[str]()
    found = places(tar_members(io.BytesIO(data), drops))
    assert places(untouched) <= found <= places(members)
    assert drops["shard_corrupt"] or found == places(members)


def places(members: Iterable[Member]) -> set[tuple[str, int, int]]:
    return {(member.name, member.offset, member.size) for member in members}
