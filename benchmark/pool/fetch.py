"""The selected samples of a pool without local tars, copied into tars of the cache: by ranges of indexed remote tars.

The members of a sample are copied byte for byte with their headers, so the ranges one after the other are a tar. A
tar without an index in the cache is downloaded once, for its index and its samples: to find a member one needs the
header before it, and that many small requests take longer than one stream (docs/own_pool.md has the figures).
"""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.locks import locked
from benchmark.core.paths import atomic_write, cache_folder
from benchmark.core.progress import tracked
from benchmark.core.storage import CHUNK, StorageError, gives_ranges, read_ranges
from benchmark.core.tar_members import BLOCK
from benchmark.core.temporaries import whole_files
from benchmark.core.uids import UidArray, UidIndex, sort_uids, unite_uids, write_subset
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.pool.tar_index import TarIndex, index_tar

log = logging.getLogger(__name__)
_NEEDS = frozenset({"image", "text"})
_END = bytes(2 * BLOCK)  # of a tar
Range = tuple[int, int]


def fetch_subset(pool: Pool, uids: UidArray, others: Pool | None = None) -> Pool:
    """Return a local pool, without metadata, of those samples of a pool without local tars that `uids` name.

    It holds the samples of `others`, too, which this function has returned. Tars that an earlier, killed process has
    fetched are not fetched again. Raises `UserError` if no tar holds any.
    """
    distinct, shards = unite_uids([uids]), pool.shards(_NEEDS)
    inputs = [pool.key, [[shard.name, shard.version] for shard in shards], hash_bytes(distinct.tobytes())]
    folder = cache_folder("subsets", hash_json(inputs, 16))
    with locked(folder):
        fetched = [folder / "sample_ids.npy", *whole_files(folder / "shards", "*.tar")]
        if not all(intact(path) for path in fetched):
            log.info("subset: fetching %s samples of pool %s to %s", f"{len(distinct):,}", pool.name, folder)
            wanted = UidIndex(distinct)
            for number, shard in enumerate(tracked("fetch", shards, len(shards), "shards")):
                path = folder / "shards" / f"{number:08d}.tar"  # for each that holds any; in the pool's order
                if not intact(path):
                    _fetch_shard(pool, shard, wanted, path)
            write_subset(folder / "sample_ids.npy", distinct)
    tars = [tar.url for tar in others.tars] if others else []
    tars += [str(path) for path in whole_files(folder / "shards", "*.tar")]
    if not tars:
        raise UserError(
            f"none of the {len(distinct):,} selected uids is in the tars of pool {pool.name} ({pool.url});"
            " give the tars that belong to its metadata"
        )
    local = Pool(pool.name, "::".join(tars) if others else str(folder), pool.columns)
    local.fields.keyed = pool.fields.keyed  # unknown without metadata
    return local


def _fetch_shard(pool: Pool, shard: Shard, wanted: UidIndex, path: Path) -> None:
    if pool.has_index(shard):
        samples = _among(pool.index(shard), wanted)
        if not len(samples):
            return
        if shard.is_tar and gives_ranges(shard.url):
            _write(path, read_ranges(shard.url, _ranges(samples)), samples, pool)
            return
    with pool.local(shard) as local, local.open("rb") as file:
        samples = _among(pool.index(shard, local), wanted)
        if len(samples):
            _write(path, _read(file, _ranges(samples)), samples, pool)


def _among(index: TarIndex, wanted: UidIndex) -> TarIndex:
    return index.take(np.flatnonzero(wanted.find(index.uids) >= 0))


def _ranges(samples: TarIndex) -> Iterator[Range]:
    """Yield (start, end) of the samples' bytes, adjacent samples as one range, in pieces of at most `CHUNK`."""
    bounds = np.concatenate(samples.extents)
    starts, ends = bounds[::2], bounds[1::2]
    gaps = np.flatnonzero(starts[1:] != ends[:-1])
    for start, end in zip(starts[[0, *gaps + 1]].tolist(), ends[[*gaps, -1]].tolist(), strict=True):
        for at in range(start, end, CHUNK):
            yield at, min(at + CHUNK, end)


def _read(file: BinaryIO, ranges: Iterable[Range]) -> Iterator[bytes]:
    for start, end in ranges:
        file.seek(start)
        yield file.read(end - start)


def _write(path: Path, pieces: Iterable[bytes], samples: TarIndex, pool: Pool) -> None:
    """Write the pieces as a tar, and check that it holds the samples."""
    with atomic_write(path) as part:
        with part.open("wb") as file:
            file.writelines(pieces)
            file.write(_END)
        fetched = index_tar(part, pool.columns, keyed=pool.fields.keyed).uids
        if not np.array_equal(fetched[sort_uids(fetched)], samples.uids[sort_uids(samples.uids)]):
            raise StorageError(f"{pool.url} changed while it was read; run the same command again")
