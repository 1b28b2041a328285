"""Write a subset as a pool of its own: new tars that DataComp's train script accepts, and metadata."""

import hashlib
import io
import json
import re
import tarfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from benchmark.core.errors import UserError
from benchmark.core.output_folder import OutputFolder
from benchmark.core.progress import progress
from benchmark.core.uids import (
    UID_DTYPE,
    UidArray,
    UidIndex,
    decode_uids,
    encode_uids,
    unite_uids,
    write_subset,
)
from benchmark.pool.pool import Pool
from benchmark.pool.tar_index import IMAGE_EXTENSIONS, Extents, parse_json
from benchmark.subset.metadata import Row, copy_metadata, write_rows
from benchmark.subset.subset import ShardSamples

SHARD_FORMAT = "{:08d}"
VERSION = 1  # raised when the same samples get other files
_META = "meta.json"
_LAST = "sample_ids.npy"


@dataclass(frozen=True)
class _Sample:
    """One sample to write: its uid in hex, the caption that counts, and what reads its members."""

    uid: str
    text: str
    members: Callable[[], dict[str, bytes]]


def reshard(
    pool: Pool,
    parts: Sequence[ShardSamples],
    location: str | Path,
    shard_size: int = 10_000,
    source: Pool | None = None,
) -> int:
    """Write samples of a local `pool` to ``location/shards/{:08d}.tar``; return how many there were.

    The images and any other members of a sample are copied byte for byte. Its JSON keeps all fields, with the uid and
    the caption that counts. Beside the tars: ``metadata/*.parquet``, ``sizes.json`` (samples per tar), ``meta.json``
    (``output_shard_count``, ``output_shard_format``), which is written first, and ``sample_ids.npy``, written last.
    Files that an earlier, killed call has written are kept.

    Args:
        pool: holds the tars.
        parts: the samples of each tar.
        location: an empty or new folder, or its fsspec URL.
        shard_size: samples per tar.
        source: the pool that the samples were fetched from and whose metadata is copied, if it is not `pool`.

    Raises:
        UserError: for a folder that holds anything else than these samples.
    """
    source, folder = source or pool, OutputFolder(location)
    uids = np.concatenate([np.empty(0, UID_DTYPE), *(part.samples.uids for part in parts)])
    count = -(-len(uids) // shard_size)
    identity = _identity(source, uids, shard_size)
    check_unused(location, identity)
    if _LAST in folder.names():
        return len(uids)
    meta = {"output_shard_count": count, "output_shard_format": SHARD_FORMAT + ".tar", "samples": identity}
    folder.write_text(_META, json.dumps(meta))
    distinct = unite_uids([uids])
    listed = copy_metadata(source, distinct, folder)
    _write_tars(pool, parts, folder, shard_size, UidIndex(distinct[~listed]))
    sizes = {_tar_name(n): min(shard_size, len(uids) - n * shard_size) for n in range(count)}
    folder.write_text("shards/sizes.json", json.dumps(sizes))
    with folder.write(_LAST) as path:
        write_subset(path, uids)
    return len(uids)


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
    digest = hashlib.sha256(json.dumps([VERSION, pool.key, shards, shard_size]).encode())
    digest.update(uids.tobytes())
    return digest.hexdigest()[:16]


def _write_tars(
    pool: Pool, parts: Sequence[ShardSamples], folder: OutputFolder, shard_size: int, unlisted: UidIndex
) -> None:
    """Write the tars that are missing, and metadata of those of their samples that are `unlisted` elsewhere."""
    total = sum(len(part.samples) for part in parts)
    names, samples = folder.names("shards"), _samples(pool, parts)
    shards = -(-total // shard_size)
    with progress("reshard", shards, "shards") as advance:
        for number in range(shards):
            chunk = islice(samples, shard_size)
            if _tar_name(number) in names:
                deque(chunk, maxlen=0)
            else:
                _write_tar(folder, number, number * shard_size, chunk, unlisted, pool)
            advance(1, "")


def _write_tar(
    folder: OutputFolder, number: int, first: int, samples: Iterator[_Sample], unlisted: UidIndex, pool: Pool
) -> None:
    rows: list[Row] = []
    with folder.write(f"shards/{_tar_name(number)}") as path:
        with tarfile.open(path, "w") as tar:
            for position, sample in enumerate(samples, first):
                members = sample.members()
                fields = _fields(parse_json(members.get("json")), sample, pool)
                members |= {"json": json.dumps(fields).encode(), "txt": sample.text.encode()}
                for extension, data in members.items():
                    member = tarfile.TarInfo(f"{position:09d}.{extension}")
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
                if unlisted.find(encode_uids([sample.uid]))[0] >= 0:
                    rows.append(fields)
        write_rows(folder, f"tar-{SHARD_FORMAT.format(number)}", rows)


def _fields(fields: dict[str, Any], sample: _Sample, pool: Pool) -> dict[str, Any]:
    """Return all fields of a sample's JSON, with ours under our names: its reader needs no map of columns."""
    ours = {name: fields[theirs] for name, theirs in pool.columns.items() if theirs in fields}
    captions = dict.fromkeys(("caption", *(["text"] if "text" in fields | ours else [])), sample.text)
    return fields | ours | {"uid": sample.uid} | captions


def _samples(pool: Pool, parts: Sequence[ShardSamples]) -> Iterator[_Sample]:
    for part in parts:
        samples = part.samples
        names = decode_uids(samples.uids)
        with pool.local(part.shard) as path, path.open("rb") as file:
            for name, text, extents in zip(names, samples.texts, samples.extents, strict=True):
                yield _Sample(name, text, partial(_members, file, extents))


def _members(file: BinaryIO, extents: Extents) -> dict[str, bytes]:
    """Return the members of a sample by extension; that of the image is always jpg, which trainers look for."""
    raw = b""
    for start, end in zip(extents[::2], extents[1::2], strict=True):
        file.seek(start)
        raw += file.read(end - start)
    members: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as tar:
        for member in tar:
            extension = member.name.rpartition("/")[2].partition(".")[2]
            known = extension.lower()
            data = tar.extractfile(member)
            if data is not None:
                extension = (
                    "jpg" if known in IMAGE_EXTENSIONS else known if known in ("json", "txt") else extension
                )
                members[extension] = data.read()
    return members


def _tar_name(number: int) -> str:
    return SHARD_FORMAT.format(number) + ".tar"
