"""Write a subset as new tars that DataComp's train script accepts."""

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmark.core.paths import atomic_write, write_text
from benchmark.core.uids import UidArray, encode_uids, write_subset
from benchmark.pool.pool import Pool
from benchmark.subset.subset import Rows, selected_rows

SHARD_FORMAT = "{:08d}"


def reshard(pool: Pool, uids: UidArray, folder: Path, shard_size: int = 10_000) -> int:
    """Write the selected samples of `pool` to ``folder/shards/{:08d}.tar``; return how many there were.

    Beside the tars: ``sizes.json`` (samples a tar), ``meta.json`` (``output_shard_count``,
    ``output_shard_format``) and ``sample_ids.npy``. Images are copied byte for byte. Remote tars are fetched one
    at a time.
    """
    sizes: dict[str, int] = {}
    written: list[str] = []
    samples = _samples(pool, selected_rows(pool, uids))
    while chunk := [sample for _, sample in zip(range(shard_size), samples, strict=False)]:
        name = SHARD_FORMAT.format(len(sizes)) + ".tar"
        with atomic_write(folder / "shards" / name) as temporary, tarfile.open(temporary, "w") as tar:
            for uid, text, image in chunk:
                _add(tar, f"{len(written):09d}", uid, text, image)
                written.append(uid)
        sizes[name] = len(chunk)
    write_text(folder / "shards" / "sizes.json", json.dumps(sizes))
    meta = {"output_shard_count": len(sizes), "output_shard_format": SHARD_FORMAT + ".tar"}
    write_text(folder / "meta.json", json.dumps(meta))
    write_subset(folder / "sample_ids.npy", encode_uids(written))
    return len(written)


def _samples(pool: Pool, parts: list[Rows]) -> Iterator[tuple[str, str, bytes]]:
    for part in parts:
        with pool.local(part.shard) as path, path.open("rb") as file:
            for row in np.asarray(part.rows):
                file.seek(part.index.offsets[row])
                yield part.index.uids[row], part.index.texts[row], file.read(part.index.sizes[row])


def _add(tar: tarfile.TarFile, key: str, uid: str, text: str, image: bytes) -> None:
    record = json.dumps({"uid": uid, "caption": text}).encode()
    for extension, data in (("jpg", image), ("json", record), ("txt", text.encode())):
        member = tarfile.TarInfo(f"{key}.{extension}")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
