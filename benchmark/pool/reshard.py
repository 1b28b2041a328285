"""Write a subset as a separate pool: new tars that DataComp's train script accepts, and metadata."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.locks import locked
from benchmark.core.output_folder import OutputFolder
from benchmark.core.progress import tracked
from benchmark.core.uids import UID_DTYPE, UidArray, write_subset
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.pool.subset import ShardSamples, selected_samples, use_metadata_captions
from benchmark.pool.subset_writer import NAME, OutputTar, WriteTar, copy_metadata
from benchmark.pool.tar_index import Integers

SHARD_SIZE = 10_000  # samples per tar
VERSION = 3  # raised when the same samples get other files
META, IDENTITY = "meta.json", "stamped_samples"  # the file, and its field that identifies the samples
_LAST = "sample_ids.npy"


def write_shards(
    pool: Pool,
    uids: UidArray,
    location: str | Path,
    engine: Engine,
    shard_size: int = SHARD_SIZE,
    source: Pool | None = None,
    every_member: bool = False,
) -> int:
    """Write selected samples of a local `pool` to ``location/shards/{:08d}.tar``; return how many its tars hold.

    The images and other members of a sample are copied byte for byte. Its JSON keeps all fields, with the uid, the
    caption that counts and a `stamp`. Next to the tars: ``metadata/*.parquet``, ``sizes.json`` (samples per tar),
    ``meta.json`` (shards, identity), which is written first, and ``sample_ids.npy``, written last.
    Files that an earlier, killed call has written are kept.

    Args:
        pool: holds the tars.
        uids: the samples.
        location: an empty or new folder, or its fsspec URL.
        engine: writes the tars, many at a time.
        shard_size: samples per tar.
        source: the pool that the samples were fetched from and whose metadata is copied, if it is not `pool`.
        every_member: whether members of any kind are copied, not only of `KNOWN_EXTENSIONS`.

    Raises:
        UserError: for a folder that holds anything else than these samples.
    """
    source, folder = source or pool, OutputFolder(location)
    parts = use_metadata_captions(selected_samples(pool, uids), source)
    uids = np.concatenate([np.empty(0, UID_DTYPE), *(part.samples.uids for part in parts)])
    starts = range(0, len(uids), shard_size)
    identity = subset_identity(source, uids, shard_size, every_member)
    claim(folder, identity, output_shard_count=len(starts), output_shard_format=f"{NAME}.tar")
    if _LAST in folder.names():
        return len(uids)
    unlisted = ~copy_metadata(source, uids, folder)
    part_ends = np.cumsum([len(part.samples) for part in parts], dtype=np.int64)
    names = folder.names("shards")
    tars = [
        OutputTar(folder, number, start, list(_slice(parts, part_ends, start, end)), unlisted[start:end])
        for number, (start, end) in enumerate((start, start + shard_size) for start in starts)
        if f"{NAME.format(number)}.tar" not in names
    ]
    if tars:
        write = WriteTar(pool, sum(len(tar.unlisted) for tar in tars), every_member, identity)
        for _ in tracked("reshard", engine.run(write, tars), len(tars), "shards"):
            pass
    sizes = {f"{NAME.format(n)}.tar": min(shard_size, len(uids) - start) for n, start in enumerate(starts)}
    folder.write_text("shards/sizes.json", json.dumps(sizes))
    with folder.write(_LAST) as path:
        write_subset(path, uids)
    return len(uids)


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
    """Raise `UserError` unless a folder is empty, or a call of `write_shards` has begun to write to it.

    With the `identity` of the samples, it must have begun with these.
    """
    folder = OutputFolder(location)
    names = folder.names()
    begun = folder.read_json(META).get(IDENTITY)
    if identity is None:
        names = {name for name in names if not re.fullmatch(r"epoch\d+", name)}  # each is checked by itself
    if names and (begun is None or (identity is not None and begun != identity)):
        held = "the output of another command" if begun else "other files"
        raise UserError(f"task.output={location} holds {held}; give an empty folder, or delete it")


def claim(folder: OutputFolder, identity: str, **meta: object) -> None:
    """Begin to write samples, given by their `identity`, to a folder. Raises `UserError` as `check_unused` does."""
    with locked(Path(folder.location)):  # two calls that begin at once see each other
        check_unused(folder.location, identity)
        if META not in folder.names():
            folder.write_text(META, json.dumps(meta | {IDENTITY: identity}))


def subset_identity(
    pool: Pool, uids: UidArray, shard_size: int = SHARD_SIZE, every_member: bool = False
) -> str:
    """Return a hash of the inputs of a resharded subset's files."""
    shards = [[shard.name, shard.version] for shard in (*pool.tars, *pool.metadata)]
    return hash_json([VERSION, pool.key, shards, shard_size, every_member, hash_bytes(uids.tobytes())], 16)
