"""The indexes of a pool's tars, made on the engine before selected samples are looked up in them."""

from __future__ import annotations

from benchmark.core.progress import progress
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.pool.subset import IMAGE_NEEDS

_LIGHT = 5  # tars of 10,000 samples, which take as long as two workers with their start


class IndexTar:
    """Makes the index of a local tar and leaves it in the cache.

    Args:
        pool: the pool of the tars.
        tars: how many there are in all.
    """

    def __init__(self, pool: Pool, tars: int) -> None:
        self.pool = pool
        self.light = tars < _LIGHT

    def setup(self, device: str) -> None:
        """Load nothing."""

    def __call__(self, shard: Shard) -> int:
        """Index one tar; return its number of samples."""
        return len(self.pool.index(shard))


def index_tars(pool: Pool, engine: Engine) -> None:
    """Make the missing indexes of a local pool; a remote tar is indexed when its samples are fetched."""
    missing = (
        [shard for shard in pool.shards(IMAGE_NEEDS) if not pool.has_index(shard)] if pool.is_local else []
    )
    if not missing:  # an engine may start a cluster
        return
    with progress("index", len(missing), "shards") as advance:
        for _ in engine.run(IndexTar(pool, len(missing)), missing):
            advance(1, "")
