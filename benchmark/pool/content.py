"""The content of a pool: a hash of its samples, and the images that have given bytes."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from benchmark.core.cached_files import read_cached
from benchmark.core.hashes import hash_bytes, hash_json, hash_text
from benchmark.core.paths import cache_folder, write_cached
from benchmark.core.progress import tracked
from benchmark.core.uids import UidArray, decode_uid
from benchmark.pool.pool import Pool

NEEDS = frozenset({"text"})
BATCH = 65536
VERSION = 2  # raised when the same samples get another hash
Hashes = npt.NDArray[np.uint64]
# SipHash's constants, and the key of pandas, which hashed the captions of the published results.
_KEY = np.frombuffer(b"0123456789123456", "<u8")
_START = np.frombuffer(b"uespemosmodnarodarenegylsetybdet", "<u8") ^ np.tile(_KEY, 2)


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
    if (known := read_cached(cached)) is not None:
        return PoolContent(**known)
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
    content = PoolContent(samples, hash_text(inputs), bool(tars))
    write_cached(cached, asdict(content))
    return content


def _sums(uids: UidArray, values: Hashes) -> Hashes:
    """Return two sums of hashes over samples, modulo 2^64: they do not depend on the order."""
    hashes = _mix(values)
    return np.array([_mix(uids[word] ^ hashes).sum(dtype=np.uint64) for word in ("f0", "f1")], np.uint64)


def _mix(x: Hashes) -> Hashes:
    """Return the finaliser of SplitMix64 of n numbers."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    return x ^ (x >> np.uint64(31))


def hash_texts(texts: Sequence[str]) -> Hashes:
    """Return the SipHash-2-4 (Aumasson and Bernstein 2012) of n texts as UTF-8, with `_KEY`, shape (n,)."""
    data = [text.encode() for text in texts]
    lengths = np.fromiter(map(len, data), np.int64, len(data))
    # Each text is filled up to words of 8 bytes, the last of which has the length as its highest byte.
    words = np.frombuffer(b"".join(d + bytes(7 - len(d) % 8) + bytes([len(d) & 255]) for d in data), "<u8")
    counts = lengths // 8 + 1
    order = np.argsort(-counts, kind="stable")
    starts = (np.cumsum(counts) - counts)[order]
    state = np.repeat(_START[:, None], len(data), axis=1)
    for index, unfinished in enumerate(np.searchsorted(-counts[order], -np.arange(counts.max(initial=0)))):
        some, word = state[:, :unfinished], words[starts[:unfinished] + index].astype(np.uint64)
        some[3] ^= word
        _scramble(some, 2)
        some[0] ^= word
    state[2] ^= np.uint64(0xFF)
    _scramble(state, 4)
    hashes = np.empty(len(data), np.uint64)
    hashes[order] = np.bitwise_xor.reduce(state)
    return hashes


def _scramble(state: Hashes, rounds: int) -> None:
    """Apply SipHash's rounds to a state of shape (4, n), in place."""
    v0, v1, v2, v3 = state
    for _ in range(rounds):
        _add_rotate(v0, v1, 13)
        _add_rotate(v2, v3, 16)
        v0[:] = _rotate(v0, 32)
        _add_rotate(v0, v3, 21)
        _add_rotate(v2, v1, 17)
        v2[:] = _rotate(v2, 32)


def _add_rotate(one: Hashes, other: Hashes, bits: int) -> None:
    one += other
    other[:] = _rotate(other, bits) ^ one


def _rotate(words: Hashes, bits: int) -> Hashes:
    return words << np.uint64(bits) | words >> np.uint64(64 - bits)


def find_images(pool: Pool, sizes: Collection[int], hashes: Collection[str]) -> dict[str, str]:
    """Return the uids of those pairs whose image has one of the `hashes` (SHA-256), with this hash.

    Only images of one of the `sizes` in bytes are read, once, and again when a shard changes.
    """
    shards = pool.shards(frozenset({"image"}))
    inputs = [[[shard.name, shard.version] for shard in shards], sorted(hashes)]
    cached = cache_folder("same_bytes", pool.key) / f"{hash_json(inputs, 16)}.json"
    if (known := read_cached(cached)) is not None:
        return dict(known)
    images: dict[str, str] = {}
    for shard in tracked("compare images", shards, len(shards), "shards"):
        with pool.local(shard) as path, path.open("rb") as file:
            index = pool.index(shard, path)
            for row in np.flatnonzero(np.isin(index.sizes, sorted(sizes))):
                file.seek(int(index.offsets[row]))
                sha256 = hash_bytes(file.read(int(index.sizes[row])))
                if sha256 in hashes:
                    images[decode_uid(index.uids[row])] = sha256
    write_cached(cached, images)
    return images
