"""The content of a pool: a hash of its samples, and the images that have given bytes."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.paths import cache_dir, write_text
from benchmark.core.progress import progress
from benchmark.core.seals import intact
from benchmark.core.uids import UidArray, decode_uid
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool

NEEDS = frozenset({"text"})
BATCH = 65536
VERSION = 2  # raised when the same samples get another hash
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PoolContent:
    """The usable samples of a pool, and a hash of them in any order and any shards.

    Args:
        samples: how many there are.
        sha256: hash of their uids and captions, and of the uids and image sizes in bytes in the tars.
        images: whether the tars are in the hash, which they are if they are local.
    """

    samples: int
    sha256: str
    images: bool

    def __str__(self) -> str:
        return f"{self.samples:,} pairs, {self.sha256[:12]}" + ", images not hashed" * (not self.images)


def pool_content(pool: Pool) -> PoolContent:
    """Return the content of `pool`; it is read once, and again when a shard changes."""
    shards, tars = pool.shards(NEEDS), pool.tars if pool.is_local else []
    files = [[shard.name, shard.fingerprint] for shard in (*shards, *tars)]
    key = hashlib.sha256(json.dumps([VERSION, files]).encode()).hexdigest()[:16]
    cached = cache_dir() / "content" / pool.key / f"{key}.json"
    if intact(cached):
        return PoolContent(**json.loads(cached.read_text()))
    samples, captions, images = 0, np.zeros(2, np.uint64), np.zeros(2, np.uint64)
    for shard in shards:
        for batch in pool.batches(shard, NEEDS, BATCH, Counter()):
            samples += len(batch)
            captions += _sums(batch.uids, np.array(batch.texts, object))
    with progress("index", len(tars), "shards") as advance:
        for shard in tars:
            with pool.local(shard) as path:
                index = pool.index(shard, path)
            images += _sums(index.uids, index.sizes.astype(np.uint64))
            advance(1, "")
    inputs = f"{samples} {captions.tolist()} {images.tolist()}"
    content = PoolContent(samples, hashlib.sha256(inputs.encode()).hexdigest(), bool(tars))
    write_text(cached, json.dumps(asdict(content)))
    return content


def _sums(uids: UidArray, values: npt.NDArray[np.object_] | Hashes) -> Hashes:
    """Return two sums of hashes over samples, modulo 2^64: they do not depend on the order."""
    hashes = _hashed(values)
    rows = (_hashed(np.ascontiguousarray(uids[word]) ^ hashes) for word in ("f0", "f1"))
    return np.array([row.sum(dtype=np.uint64) for row in rows], np.uint64)


def _hashed(values: npt.NDArray[np.object_] | Hashes) -> Hashes:
    import pandas as pd

    return np.asarray(pd.util.hash_array(values, categorize=False), np.uint64)


def find_images(pool: Pool, sizes: Collection[int], hashes: Collection[str]) -> dict[str, str]:
    """Return the uids of those pairs whose image has one of the `hashes` (SHA-256), with this hash.

    Only images of one of the `sizes` in bytes are read, once, and again when a shard changes.
    """
    shards = pool.shards(frozenset({"image"}))
    inputs = [[[shard.name, shard.fingerprint] for shard in shards], sorted(hashes)]
    key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]
    cached = cache_dir() / "same_bytes" / pool.key / f"{key}.json"
    if intact(cached):
        return dict(json.loads(cached.read_text()))
    images: dict[str, str] = {}
    with progress("compare images", len(shards), "shards") as advance:
        for shard in shards:
            images |= _find_in_shard(pool, shard, np.array(sorted(sizes)), frozenset(hashes))
            advance(1, "")
    write_text(cached, json.dumps(images))
    return images


def _find_in_shard(
    pool: Pool, shard: Shard, sizes: npt.NDArray[np.int64], hashes: frozenset[str]
) -> dict[str, str]:
    images = {}
    with pool.local(shard) as path, path.open("rb") as file:
        index = pool.index(shard, path)
        for row in np.flatnonzero(np.isin(index.sizes, sizes)):
            file.seek(int(index.offsets[row]))
            sha256 = hashlib.sha256(file.read(int(index.sizes[row]))).hexdigest()
            if sha256 in hashes:
                images[decode_uid(index.uids[row])] = sha256
    return images
