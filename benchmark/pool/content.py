"""What a pool holds, as a hash: two pools of one name may differ, and one pool may lie in two places."""

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.paths import cache_dir, write_text
from benchmark.core.progress import progress
from benchmark.core.seals import intact
from benchmark.core.uids import UidArray
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
