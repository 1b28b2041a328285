"""What a pool holds, as a hash: two pools of one name may differ, and one pool may lie in two places."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmark.core.paths import cache_dir, write_text
from benchmark.core.uids import UidArray
from benchmark.pool.pool import Pool

NEEDS = frozenset({"text"})
BATCH = 65536
Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PoolContent:
    """The usable samples of a pool, and a hash of their uids and captions in any order and any shards."""

    samples: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.samples:,} pairs, {self.sha256[:12]}"


def pool_content(pool: Pool) -> PoolContent:
    """Return the content of `pool`; it is read once, and again when a shard changes. Images are not read."""
    shards = pool.shards(NEEDS)
    files = hashlib.sha256(json.dumps([[shard.name, shard.fingerprint] for shard in shards]).encode())
    cached = cache_dir() / "content" / pool.key / f"{files.hexdigest()[:16]}.json"
    if cached.is_file():
        return PoolContent(**json.loads(cached.read_text()))
    samples, sums = 0, np.zeros(2, np.uint64)
    for shard in shards:
        for batch in pool.batches(shard, NEEDS, BATCH, Counter()):
            samples += len(batch)
            sums += _sums(batch.uids, batch.texts)
    content = PoolContent(samples, hashlib.sha256(f"{samples} {sums.tolist()}".encode()).hexdigest())
    write_text(cached, json.dumps(asdict(content)))
    return content


def _sums(uids: UidArray, texts: Sequence[str]) -> Hashes:
    """Return two sums of hashes over samples, modulo 2^64: they do not depend on the order."""
    captions = _hashed(np.array(texts, object))
    rows = (_hashed(np.ascontiguousarray(uids[word]) ^ captions) for word in ("f0", "f1"))
    return np.array([row.sum(dtype=np.uint64) for row in rows], np.uint64)


def _hashed(values: npt.NDArray[np.object_] | Hashes) -> Hashes:
    return np.asarray(pd.util.hash_array(values, categorize=False), np.uint64)
