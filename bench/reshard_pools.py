"""A pool of large tars as webdataset writes them, and functions that select and forget parts of it."""

import hashlib
import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np

from benchmark.core.uids import UidArray, encode_uids, unite_uids

TARS, PAIRS, BYTES = 10, 10_000, 30_000  # pairs per tar, bytes per image
TAR = "shards/{:08d}.tar"


def write_tars(folder: Path) -> None:
    """Write the tars, each time of writing a fraction; without metadata.

    Only the uids differ from tar to tar: `tarfile` would take two minutes to write them all.
    """
    first = folder / TAR.format(0)
    first.parent.mkdir(parents=True)
    _write_tar(first)
    tar = np.fromfile(first, np.uint8)
    text = tar[: 10 * BYTES].tobytes()
    size = text.index(b"000000002.jpg") - text.index(b"000000001.jpg")
    place = text.index(b'"uid": "') + len(b'"uid": "')
    samples = tar[: size * PAIRS].reshape(PAIRS, size)
    for number in range(1, TARS):
        uids = "".join(map(uid, range(number * PAIRS, (number + 1) * PAIRS)))
        samples[:, place : place + 32] = np.frombuffer(uids.encode(), np.uint8).reshape(PAIRS, 32)
        tar.tofile(folder / TAR.format(number))


def _write_tar(path: Path) -> None:
    noise = np.random.default_rng(0).bytes(2 * BYTES)
    with tarfile.open(path, "w") as tar:
        for pair in range(PAIRS):
            fields = _record(pair)
            files = {
                "jpg": noise[pair : pair + BYTES],
                "json": json.dumps(fields).encode(),
                "txt": str(fields["caption"]).encode(),
            }
            for extension, data in files.items():
                member = tarfile.TarInfo(f"{pair:09d}.{extension}")
                member.size, member.mtime = len(data), 1_700_000_000.25
                tar.addfile(member, io.BytesIO(data))


def _record(pair: int) -> dict[str, object]:
    """Return the fields that img2dataset and DataComp write of a pair, as many bytes for each."""
    return {
        "uid": uid(pair),
        "url": f"https://example.org/images/{pair:06d}.jpg",
        "caption": f"a photo of thing number {pair:06d}, as long as captions of the web are",
        "key": f"{pair:09d}",
        "status": "success",
        "error_message": None,
        "width": 256,
        "height": 256,
        "original_width": 1024,
        "original_height": 768,
        "exif": "{}",
        "sha256": hashlib.sha256(b"%d" % pair).hexdigest(),
        "clip_b32_similarity_score": 0.25,
        "clip_l14_similarity_score": 0.21,
    }


def uid(pair: int) -> str:
    return hashlib.md5(b"%d" % pair, usedforsecurity=False).hexdigest()


def linked(folder: Path, tars: int, target: Path) -> Path:
    """Return a pool of another pool's first tars, which are not copied."""
    (target / "shards").mkdir(parents=True)
    for number in range(tars):
        os.link(folder / TAR.format(number), target / TAR.format(number))
    return target


def tars_of(folder: str) -> list[Path]:
    return sorted(Path(folder).glob("shards/*.tar"))


def chosen(folder: str, share: float, seed: int = 0) -> UidArray:
    """Return a random fraction of the uids of a pool."""
    pairs = len(tars_of(folder)) * PAIRS
    numbers = np.random.default_rng(seed).choice(pairs, int(share * pairs), replace=False)
    return unite_uids([encode_uids([uid(number) for number in numbers.tolist()])])
