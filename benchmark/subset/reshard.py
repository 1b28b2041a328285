"""Write a subset as new tars that DataComp's train script accepts."""

import io
import json
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmark.core.paths import atomic_write, write_text
from benchmark.core.uids import UID_DTYPE, decode_uids, write_subset
from benchmark.pool.pool import Pool
from benchmark.subset.subset import ShardSamples

SHARD_FORMAT = "{:08d}"


def reshard(pool: Pool, parts: Sequence[ShardSamples], folder: Path, shard_size: int = 10_000) -> int:
    """Write samples of `pool` to ``folder/shards/{:08d}.tar``; return how many there were.

    Beside the tars: ``sizes.json`` (samples per tar), ``meta.json`` (``output_shard_count``,
    ``output_shard_format``) and ``sample_ids.npy``, which is written last. Images are copied byte for byte. Remote
    tars are downloaded one at a time.
    """
    sizes: dict[str, int] = {}
    written = 0
    samples = _samples(pool, parts)
    while chunk := [sample for _, sample in zip(range(shard_size), samples, strict=False)]:
        name = SHARD_FORMAT.format(len(sizes)) + ".tar"
        with atomic_write(folder / "shards" / name) as temporary, tarfile.open(temporary, "w") as tar:
            for uid, text, image in chunk:
                _add(tar, f"{written:09d}", uid, text, image)
                written += 1
        sizes[name] = len(chunk)
    write_text(folder / "shards" / "sizes.json", json.dumps(sizes))
    meta = {"output_shard_count": len(sizes), "output_shard_format": SHARD_FORMAT + ".tar"}
    write_text(folder / "meta.json", json.dumps(meta))
    uids = [np.empty(0, UID_DTYPE), *(part.samples.uids for part in parts)]
    write_subset(folder / "sample_ids.npy", np.concatenate(uids))
    return written


def _samples(pool: Pool, parts: Sequence[ShardSamples]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the uid in hex, the caption and the encoded image of each sample."""
    for part in parts:
        samples = part.samples
        names = decode_uids(samples.uids)
        with pool.local(part.shard) as path, path.open("rb") as file:
            for name, text, offset, size in zip(
                names, samples.texts, samples.offsets, samples.sizes, strict=True
            ):
                file.seek(offset)
                yield name, text, file.read(size)


def _add(tar: tarfile.TarFile, key: str, uid: str, text: str, image: bytes) -> None:
    record = json.dumps({"uid": uid, "caption": text}).encode()
    for extension, data in (("jpg", image), ("json", record), ("txt", text.encode())):
        member = tarfile.TarInfo(f"{key}.{extension}")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
