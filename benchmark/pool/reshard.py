"""Write a subset as a separate pool: new tars that DataComp's train script accepts, and metadata."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
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
from benchmark.pool.pool import Pool
from benchmark.pool.subset import ShardSamples
from benchmark.pool.subset_writer import NAME, OutputTar, WriteTar, copy_metadata
from benchmark.pool.tar_index import Integers

SHARD_SIZE = 10_000  # samples per tar
VERSION = 2  # raised when the same samples get other files
_META = "meta.json"
_LAST = "sample_ids.npy"


def reshard(
    pool: Pool,
    parts: Sequence[ShardSamples],
    location: str | Path,
    engine: Engine,
    shard_size: int = SHARD_SIZE,
    source: Pool | None = None,
    every_member: bool = False,
) -> int:
    """Write samples of a local `pool` to ``location/shards/{:08d}.tar``; return their number.

    The images and other members of a sample are copied byte for byte. Its JSON keeps all fields, with the uid and
    the caption that counts. Next to the tars: ``metadata/*.parquet``, ``sizes.json`` (samples per tar), ``meta.json``
    (``output_shard_count``, ``output_shard_format``), which is written first, and ``sample_ids.npy``, written last.
    Files that an earlier, killed call has written are kept.

    Args:
        pool: holds the tars.
        parts: the samples, by the tars that hold them.
        location: an empty or new folder, or its fsspec URL.
        engine: writes the tars, many at a time.
        shard_size: samples per tar.
        source: the pool that the samples were fetched from and whose metadata is copied, if it is not `pool`.
        every_member: whether members of any kind are copied, not only of `KNOWN_EXTENSIONS`.

    Raises:
        UserError: for a folder that holds anything else than these samples.
    """
    source, folder = source or pool, OutputFolder(location)
    uids = np.concatenate([np.empty(0, UID_DTYPE), *(part.samples.uids for part in parts)])
    starts = range(0, len(uids), shard_size)
    if begin(location, subset_identity(source, uids, shard_size, every_member), len(starts)):
        return len(uids)
    unlisted = ~copy_metadata(source, uids, folder)
    tars = list(_missing_tars(folder, parts, unlisted, starts))
    if tars:
        with progress("reshard", len(tars), "shards") as advance:
            for _ in engine.run(WriteTar(pool, sum(len(tar.unlisted) for tar in tars), every_member), tars):
                advance(1, "")
    sizes = {f"{NAME.format(n)}.tar": min(shard_size, len(uids) - start) for n, start in enumerate(starts)}
    folder.write_text("shards/sizes.json", json.dumps(sizes))
    with folder.write(_LAST) as path:
        write_subset(path, uids)
    return len(uids)


def begin(location: str | Path, identity: str, tars: int) -> bool:
    """Claim a folder for the samples of that identity; return whether all of them are there already."""
    folder = OutputFolder(location)
    with locked(Path(location)):  # two calls that begin at once see each other
        check_unused(location, identity)
        if _LAST in folder.names():
            return True
        meta = {"output_shard_count": tars, "output_shard_format": f"{NAME}.tar", "samples": identity}
        folder.write_text(_META, json.dumps(meta))
        return False


def _missing_tars(
    folder: OutputFolder, parts: Sequence[ShardSamples], unlisted: npt.NDArray[np.bool_], starts: range
) -> Iterator[OutputTar]:
    """Yield the tars that are not in the folder; no metadata lists the `unlisted` of their n samples, shape (n,)."""
    names = folder.names("shards")
    part_ends = np.cumsum([len(part.samples) for part in parts], dtype=np.int64)
    for number, start in enumerate(starts):
        if f"{NAME.format(number)}.tar" not in names:
            end = start + starts.step
            yield OutputTar(
                folder, number, start, list(_slice(parts, part_ends, start, end)), unlisted[start:end]
            )


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
            yield ShardSamples(part.shard, part.samples.take(rows))


def check_unused(location: str | Path, identity: str | None = None) -> None:
    """Raise `UserError` unless a folder is empty, or a call of `reshard` has begun to write to it.

    With the `identity` of the samples, it must have begun with these.
    """
    folder = OutputFolder(location)
    names = folder.names()
    begun = None  # the identity of the samples that a call of `reshard` has begun to write
    if _META in names:
        with suppress(ValueError):  # another's file
            meta = json.loads(folder.read(_META))
            begun = meta.get("samples") if isinstance(meta, dict) else None
    if identity is None:
        names = {name for name in names if not re.fullmatch(r"epoch\d+", name)}  # each is checked by itself
    if names and (begun is None or (identity is not None and begun != identity)):
        held = "another subset" if begun else "other files"
        raise UserError(f"task.output={location} holds {held}; give an empty folder, or delete it")


def subset_identity(
    pool: Pool, uids: UidArray, shard_size: int = SHARD_SIZE, every_member: bool = False
) -> str:
    """Return a hash of the inputs of a resharded subset's files."""
    shards = [[shard.name, shard.version] for shard in (*pool.tars, *pool.metadata)]
    return hash_json([VERSION, pool.key, shards, shard_size, every_member, hash_bytes(uids.tobytes())], 16)
