"""Write subsets as pools of their own: new tars that DataComp's train script accepts, and metadata."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.locks import locked
from benchmark.core.output_folder import OutputFolder
from benchmark.core.progress import progress
from benchmark.core.uids import UID_DTYPE, UidArray, write_subset
from benchmark.engine.base import Engine
from benchmark.pool.metadata import copy_metadata
from benchmark.pool.pool import Pool
from benchmark.pool.subset import ShardSamples
from benchmark.pool.tar_index import Integers
from benchmark.pool.tar_writer import NAME, OutputTar, WriteTars

SHARD_SIZE = 10_000  # samples per tar
VERSION = 1  # raised when the same samples get other files
_META = "meta.json"
_LAST = "sample_ids.npy"


@dataclass(frozen=True)
class Copy:
    """A subset to write: its samples, by the tars that hold them, and an empty or new folder or its fsspec URL."""

    parts: Sequence[ShardSamples]
    location: str | Path

    @property
    def uids(self) -> UidArray:
        """The uids of all samples, in the order in which they are written."""
        return np.concatenate([np.empty(0, UID_DTYPE), *(part.samples.uids for part in self.parts)])


def reshard(
    pool: Pool,
    copies: Sequence[Copy],
    engine: Engine,
    shard_size: int = SHARD_SIZE,
    source: Pool | None = None,
) -> list[int]:
    """Write subsets of a local `pool` to ``location/shards/{:08d}.tar``; return how many samples each has.

    The images and any other members of a sample are copied byte for byte. Its JSON keeps all fields, with the uid and
    the caption that counts. Beside the tars: ``metadata/*.parquet``, ``sizes.json`` (samples per tar), ``meta.json``
    (``output_shard_count``, ``output_shard_format``), which is written first, and ``sample_ids.npy``, written last.
    Files that an earlier, killed call has written are kept.

    Args:
        pool: holds the tars.
        copies: the subsets.
        engine: writes the tars, many at a time. What several subsets have of one stretch of the pool is read once.
        shard_size: samples per tar.
        source: the pool that the samples were fetched from and whose metadata is copied, if it is not `pool`.

    Raises:
        UserError: for a folder that holds anything else than these samples.
    """
    source = source or pool
    started = [_Started(source, copy, shard_size) for copy in copies]
    begun = [copy for copy in started if not copy.done]
    listed = copy_metadata(source, [copy.uids for copy in begun], [copy.folder for copy in begun])
    tars = [list(copy.tars(~of_copy)) for copy, of_copy in zip(begun, listed, strict=True)]
    work = WriteTars(pool, sum(len(tar.unlisted) for of_copy in tars for tar in of_copy))
    if groups := _together(pool, tars):
        with progress("reshard", sum(map(len, tars)), "shards") as advance:
            for written in engine.run(work, groups):
                advance(written, "")
    return [copy.finish() for copy in started]


class _Started:
    """A subset that is being written: its n `uids`, its folder, and whether all of it is `done`."""

    def __init__(self, source: Pool, copy: Copy, shard_size: int) -> None:
        self._copy, self._shard_size = copy, shard_size
        self.uids, self.folder = copy.uids, OutputFolder(copy.location)
        self._count = -(-len(self.uids) // shard_size)
        with locked(Path(copy.location)):  # two calls that begin at once see each other
            identity = check_copy(source, copy, shard_size)
            self.done = _LAST in self.folder.names()
            if not self.done:
                meta = {
                    "output_shard_count": self._count,
                    "output_shard_format": NAME + ".tar",
                    "samples": identity,
                }
                self.folder.write_text(_META, json.dumps(meta))

    def tars(self, unlisted: npt.NDArray[np.bool_]) -> Iterator[OutputTar]:
        """Yield the tars that are missing; no metadata lists the `unlisted` of its uids, shape (n,)."""
        names = self.folder.names("shards")
        part_ends = np.cumsum([len(part.samples) for part in self._copy.parts], dtype=np.int64)
        for number in range(self._count):
            if f"{NAME.format(number)}.tar" not in names:
                start = number * self._shard_size
                end = start + self._shard_size
                parts = list(_slice(self._copy.parts, part_ends, start, end))
                yield OutputTar(self.folder, number, start, parts, unlisted[start:end])

    def finish(self) -> int:
        """Write what ends the folder; return how many samples it has."""
        if not self.done:
            lasts = len(self.uids) - np.arange(self._count) * self._shard_size
            sizes = {
                f"{NAME.format(n)}.tar": min(self._shard_size, int(left)) for n, left in enumerate(lasts)
            }
            self.folder.write_text("shards/sizes.json", json.dumps(sizes))
            with self.folder.write(_LAST) as path:
                write_subset(path, self.uids)
        return len(self.uids)


def _slice(
    parts: Sequence[ShardSamples], part_ends: Integers, start: int, end: int
) -> Iterator[ShardSamples]:
    """Yield the samples from `start` to before `end` of all parts, of which each ends at one of `part_ends`."""
    first = int(np.searchsorted(part_ends, start, side="right"))
    last = int(np.searchsorted(part_ends, end)) + 1
    for part, part_end in zip(parts[first:last], part_ends[first:last].tolist(), strict=True):
        offset = part_end - len(part.samples)
        rows = np.arange(max(start, offset), min(end, part_end)) - offset
        if len(rows):
            yield ShardSamples(part.shard, part.samples.take(rows), part.rows[rows])


def _together(pool: Pool, tars: Sequence[Sequence[OutputTar]]) -> list[list[OutputTar]]:
    """Group the tars of several subsets by where in the pool they begin, as those of the longest subset do."""
    order = {shard: number for number, shard in enumerate(pool.tars)}

    def source_position(tar: OutputTar) -> tuple[int, int]:
        return order[tar.parts[0].shard], int(tar.parts[0].rows[0])

    starts = [source_position(tar) for tar in max(tars, key=len, default=())]
    groups: list[list[OutputTar]] = [[] for _ in starts]
    for tar in (tar for of_copy in tars for tar in of_copy):
        groups[max(0, bisect_right(starts, source_position(tar)) - 1)].append(tar)
    return groups


def check_unused(location: str | Path, identity: str | None = None) -> None:
    """Raise `UserError` unless a folder is empty, or a call of `reshard` has begun to write to it.

    With the `identity` of the samples, it must have begun with these.
    """
    folder = OutputFolder(location)
    names = folder.names()
    begun = _begun(folder) if _META in names else None
    if identity is None:
        names = {name for name in names if not re.fullmatch(r"epoch\d+", name)}  # each is checked by itself
    if names and (begun is None or (identity is not None and begun != identity)):
        held = "another subset" if begun else "other files"
        raise UserError(f"task.output={location} holds {held}; give an empty folder, or delete it")


def check_copy(source: Pool, copy: Copy, shard_size: int = SHARD_SIZE) -> str:
    """Return the identity of the samples. Raises `UserError` unless `reshard` can write them, or has begun to."""
    identity = _identity(source, copy.uids, shard_size)
    check_unused(copy.location, identity)
    return identity


def _begun(folder: OutputFolder) -> str | None:
    """Return the identity of the samples that a call of `reshard` has begun to write, None for another's file."""
    try:
        meta = json.loads(folder.read(_META))
    except ValueError:
        return None
    return meta.get("samples") if isinstance(meta, dict) else None


def _identity(pool: Pool, uids: UidArray, shard_size: int) -> str:
    """Return a hash of what the files of a resharded subset depend on."""
    shards = [[shard.name, shard.fingerprint] for shard in (*pool.tars, *pool.metadata)]
    return hash_json([VERSION, pool.key, shards, shard_size, hash_bytes(uids.tobytes())], 16)
