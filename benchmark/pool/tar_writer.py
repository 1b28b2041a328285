"""Writes samples of a pool into new tars: what workers do in resharding."""

from __future__ import annotations

import json
import tarfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmark.core.output_folder import OutputFolder
from benchmark.core.tar_members import BLOCK
from benchmark.core.uids import decode_uids
from benchmark.pool.layout import Shard
from benchmark.pool.metadata import Row, write_rows
from benchmark.pool.pool import Pool
from benchmark.pool.subset import ShardSamples
from benchmark.pool.tar_index import Members
from benchmark.pool.tar_samples import IMAGE_EXTENSIONS, parse_json

NAME = "{:08d}"  # of a tar, by its number
# Bytes per tar that is open: a megabyte leaves the processor's cache, which takes twice the time.
_BUFFER = 2**17
_LIGHT = 100_000  # samples, which take ten seconds
_BLANK = tarfile.TarInfo().tobuf()
_OWNER, _TIME, _END = _BLANK[100:124], _BLANK[135:148], _BLANK[156:]
_REST = sum(b" " * 8) + sum(_END)  # of the sum of a header: the checksum's own field, and what follows
_RENAMED = dict.fromkeys(IMAGE_EXTENSIONS, "jpg") | {"json": "json", "txt": "txt"}  # trainers look for jpg


@dataclass(frozen=True)
class OutputTar:
    """One tar to write, to ``shards`` of a folder.

    Args:
        folder: the folder.
        number: what the tar is named by.
        first: number of its first sample among all of the subset.
        parts: its n samples.
        unlisted: which of them no metadata lists, shape (n,).
    """

    folder: OutputFolder
    number: int
    first: int
    parts: Sequence[ShardSamples]
    unlisted: npt.NDArray[np.bool_]


class WriteTars:
    """Writes tars, several in one pass: a sample that more than one of them has is read once.

    Args:
        pool: holds the samples.
        samples: how many there are in all.
    """

    def __init__(self, pool: Pool, samples: int) -> None:
        self.pool = pool
        self.light = samples < _LIGHT

    def setup(self, device: str) -> None:
        """Load nothing."""

    def __call__(self, tars: Sequence[OutputTar]) -> int:
        """Write the tars with one sample in memory at a time; return how many tars they are."""
        order = {shard: number for number, shard in enumerate(self.pool.tars)}
        with ExitStack() as stack:
            outputs = [_samples(tar, stack.enter_context(_open(tar)), order) for tar in tars]
            for shard, samples in groupby(merge(*outputs, key=_source_position), lambda sample: sample.shard):
                with self.pool.local(shard) as path, path.open("rb") as file:
                    for _, same in groupby(samples, lambda sample: (sample.source_position, sample.text)):
                        self._copy(file, list(same))
        return len(tars)

    def _copy(self, file: BinaryIO, same: Sequence[_Sample]) -> None:
        """Write one sample of a tar to each output that has it."""
        sample = same[0]
        members = _members(file, sample.members)
        fields = self._fields(parse_json(members.get("json")), sample)
        members |= {"json": json.dumps(fields).encode(), "txt": sample.text.encode()}
        for copy in same:
            copy.output.add(members)
            if copy.unlisted:
                copy.output.rows.append(fields)

    def _fields(self, fields: dict[str, Any], sample: _Sample) -> dict[str, Any]:
        """Return all fields of a sample's JSON, with ours under our names: its reader needs no map of columns."""
        ours = {name: fields[theirs] for name, theirs in self.pool.columns.items() if theirs in fields}
        fields = fields | ours | {"uid": sample.uid, "caption": sample.text}
        return fields | {"text": sample.text} if "text" in fields else fields


class _Output:
    """A tar that is being written, and the fields of its samples that no metadata lists."""

    def __init__(self, file: BinaryIO, first: int) -> None:
        self.rows: list[Row] = []
        self._file, self._number = file, first

    def add(self, members: Mapping[str, bytes]) -> None:
        """Write a sample; its members are given by their extensions."""
        blocks: list[bytes] = []
        for extension, data in members.items():
            head = header(f"{self._number:09d}.{extension}", len(data))
            blocks += (head, data, bytes(-len(data) % BLOCK))
        self._file.writelines(blocks)
        self._number += 1

    def end(self) -> None:
        """Write the end of the tar, as `tarfile` does."""
        size = self._file.tell() + 2 * BLOCK
        records = -(-size // tarfile.RECORDSIZE) * tarfile.RECORDSIZE
        self._file.write(bytes(records - size + 2 * BLOCK))


class _Sample(NamedTuple):
    """One sample to copy: where it is (number of its tar, row in its index), what it is, and the output for it."""

    source_position: tuple[int, int]
    shard: Shard
    uid: str
    text: str
    members: Members
    unlisted: bool
    output: _Output


def _source_position(sample: _Sample) -> tuple[int, int]:
    return sample.source_position


def _samples(tar: OutputTar, output: _Output, order: Mapping[Shard, int]) -> Iterator[_Sample]:
    unlisted = iter(tar.unlisted.tolist())
    for part in tar.parts:
        samples, number = part.samples, order[part.shard]
        fields = (part.rows.tolist(), decode_uids(samples.uids), samples.texts, samples.members)
        for row, uid, text, members in zip(*fields, strict=True):
            yield _Sample((number, row), part.shard, uid, text, members, next(unlisted), output)


@contextmanager
def _open(tar: OutputTar) -> Iterator[_Output]:
    name = NAME.format(tar.number)
    with tar.folder.write(f"shards/{name}.tar") as path:
        with path.open("wb", buffering=_BUFFER) as file:
            output = _Output(file, tar.first)
            yield output
            output.end()
        write_rows(tar.folder, f"tar-{name}", output.rows)


def header(name: str, size: int) -> bytes:
    """Return the header of a file of `size` bytes, six times as fast as by `tarfile`."""
    if len(name) > 100 or not name.isascii() or size >= 8**11:
        member = tarfile.TarInfo(name)
        member.size = size
        return member.tobuf()
    start = name.encode().ljust(100, b"\0") + _OWNER + b"%011o" % size + _TIME
    # The lower half of this is one more than the sum of the bytes.
    total = (zlib.adler32(start) & 0xFFFF) - 1 + _REST
    return start + b"%06o\0 " % total + _END


def _members(file: BinaryIO, members: Members) -> dict[str, bytes]:
    """Return the members of a sample by extension; that of the image is always jpg."""
    read = {}
    for extension, offset, size in members:
        file.seek(offset)
        read[_RENAMED.get(extension.lower(), extension)] = file.read(size)
    return read
