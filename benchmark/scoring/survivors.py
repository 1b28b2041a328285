"""The pairs that a cascade's earlier filters keep: what later filters compute their corpus statistics of."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.cached_files import intact
from benchmark.core.hashes import hash_bytes
from benchmark.core.mapped_files import MappedUids
from benchmark.core.paths import cache_folder
from benchmark.core.uids import UidArray, UidIndex, read_subset, write_subset
from benchmark.pool.pool import Pool


@dataclass(frozen=True)
class Survivors:
    """Some pairs of a pool, as a subset file in the cache, which workers read.

    The file's name is a hash of the uids, under which scores that are fitted on these pairs are cached.
    """

    path: Path

    @property
    def key(self) -> str:
        """The hash of the uids."""
        return self.path.stem

    def index(self) -> UidIndex:
        """Read the uids to look others up among them."""
        return UidIndex(read_subset(self.path))


def save_survivors(pool: Pool, uids: UidArray) -> Survivors:
    """Write the sorted `uids` of a pool, each once, to the cache."""
    digest = hash_bytes(uids.tobytes(), 16)
    survivors = Survivors(cache_folder("survivors", pool.key) / f"{digest}.npy")
    if not intact(survivors.path):
        write_subset(survivors.path, uids)
    return survivors


def take_among(batches: Iterable[Batch], uids: UidIndex | MappedUids | None) -> Iterator[Batch]:
    """Yield the samples of each batch that are among the `uids`; every batch if these are None."""
    for batch in batches:
        kept = batch if uids is None else batch.take(np.flatnonzero(uids.find(batch.uids) >= 0))
        if kept:
            yield kept
