"""Images of a pool that have the bytes of given images."""

import json
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.paths import cache_folder, write_text
from benchmark.core.progress import progress
from benchmark.core.seals import intact
from benchmark.core.uids import decode_uid
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool

NEEDS = frozenset({"image"})


def find_images(pool: Pool, sizes: Collection[int], hashes: Collection[str]) -> dict[str, str]:
    """Return the uids of those pairs whose image has one of the `hashes` (SHA-256), with this hash.

    Only images of one of the `sizes` in bytes are read, once, and again when a shard changes.
    """
    shards = pool.shards(NEEDS)
    inputs = [[[shard.name, shard.fingerprint] for shard in shards], sorted(hashes)]
    key = hash_json(inputs, 16)
    cached = cache_folder("same_bytes", pool.key) / f"{key}.json"
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
            sha256 = hash_bytes(file.read(int(index.sizes[row])))
            if sha256 in hashes:
                images[decode_uid(index.uids[row])] = sha256
    return images
