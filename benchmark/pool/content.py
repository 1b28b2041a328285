"""The content of a pool: a hash of its samples, and the images that have given bytes."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from benchmark.core.hashes import hash_bytes, hash_json, hash_text
from benchmark.core.paths import cache_folder, cached_value
from benchmark.core.progress import tracked
from benchmark.core.ties import mix
from benchmark.core.uids import UidArray, decode_uid
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool

NEEDS = frozenset({"text"})
BATCH = 65536
VERSION = 3  # raised when the same samples get another hash
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
    files = [[shard.name, shard.version] for shard in (*shards, *tars)]
    cached = cache_folder("content", pool.key) / f"{hash_json([VERSION, files], 16)}.json"
    return PoolContent(**cached_value(cached, lambda: asdict(_read_content(pool, shards, tars))))


def _read_content(pool: Pool, shards: Sequence[Shard], tars: Sequence[Shard]) -> PoolContent:
    samples, captions, images = 0, np.zeros(2, np.uint64), np.zeros(2, np.uint64)
    for shard in tracked("read captions", shards, len(shards), "shards"):
        for batch in pool.batches(shard, NEEDS, BATCH, Counter()):
            samples += len(batch)
            captions += _sums(batch.uids, hash_texts(batch.texts))
    for shard in tracked("index", tars, len(tars), "shards"):
        with pool.local(shard) as path:
            index = pool.index(shard, path)
        images += _sums(index.uids, index.sizes.astype(np.uint64))
    inputs = f"{samples} {captions.tolist()} {images.tolist()}"
    return PoolContent(samples, hash_text(inputs), bool(tars))


def _sums(uids: UidArray, values: Hashes) -> Hashes:
    """Return two sums of hashes over samples, modulo 2^64: they do not depend on the order."""
    hashes = mix(values)
    return np.array([mix(uids[word] ^ hashes).sum(dtype=np.uint64) for word in ("f0", "f1")], np.uint64)


def hash_texts(texts: Sequence[str]) -> Hashes:
    """Return 64 bits of the BLAKE2b hash of each of n texts as UTF-8, shape (n,)."""
    digests = b"".join(blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(digests, "<u8")


def find_images(pool: Pool, sizes: Collection[int], hashes: Collection[str]) -> dict[str, str]:
    """Return the uids of those pairs whose image has one of the `hashes` (SHA-256), with this hash.

    Only images of one of the `sizes` in bytes are read, once, and again when a shard changes.
    """
    shards = pool.shards(frozenset({"image"}))
    inputs = [[[shard.name, shard.version] for shard in shards], sorted(hashes)]
    cached = cache_folder("same_bytes", pool.key) / f"{hash_json(inputs, 16)}.json"
    return dict(cached_value(cached, lambda: _compare_images(pool, shards, sizes, hashes)))


def _compare_images(
    pool: Pool, shards: Sequence[Shard], sizes: Collection[int], hashes: Collection[str]
) -> dict[str, str]:
    images: dict[str, str] = {}
    for shard in tracked("compare images", shards, len(shards), "shards"):
        with pool.local(shard) as path, path.open("rb") as file:
            index = pool.index(shard, path)
            for row in np.flatnonzero(np.isin(index.sizes, sorted(sizes))):
                file.seek(int(index.offsets[row]))
                sha256 = hash_bytes(file.read(int(index.sizes[row])))
                if sha256 in hashes:
                    images[decode_uid(index.uids[row])] = sha256
    return images
