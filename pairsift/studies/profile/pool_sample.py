"""A random sample of a pool, which is itself a pool: two billion images are too many to read."""

from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import counts
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.progress import tracked
from benchmark.pool.exclusion import refuse_exclusions
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.pool.tar_index import TarIndex

IMAGE = frozenset({"image"})
# A sample is drawn from this many shards, or from more if they have too few samples. Samples of one shard were
# downloaded together and may be alike; drawing from all shards would read the headers of every tar.
SHARDS = 16


class PoolSample(Pool):
    """`count` usable samples of a pool, drawn without replacement; all of them if the pool has fewer.

    Scores and features are cached under the sample's own key. Every shard is read again for each feature: copy a
    remote pool with ``task=reshard`` first. Raises `UserError` when the pool lacks images, or a usable sample.
    """

    def __init__(self, pool: Pool, count: int, seed: int) -> None:
        refuse_exclusions(pool)
        super().__init__(pool.name, pool.url, pool.columns, pool.scale, sorted(pool.hidden), pool.nsfw)
        self.unusable: Counter[str] = Counter()
        self.requested = count
        self._whole = pool
        self._rows = self._draw(count, np.random.default_rng(seed))

    @property
    def key(self) -> str:
        """The cache key: the pool's, and a hash of the rows drawn from each shard."""
        drawn = [[shard.name, shard.fingerprint, rows.tolist()] for shard, rows in self._rows.items()]
        return f"{self._whole.key}-{hash_json(drawn, 12)}"

    def shards(self, needs: frozenset[str]) -> list[Shard]:
        """Return the tars that samples were drawn from, whatever `needs` are: a profile reads images."""
        return list(self._rows)

    def index(
        self, shard: Shard, path: Path | None = None, extra_columns: frozenset[str] = frozenset()
    ) -> TarIndex:
        """Return the index of the drawn samples of a tar; everything else reads the rows of an index."""
        return self._whole.index(shard, path, extra_columns).take(self._rows[shard])

    def _draw(self, count: int, rng: np.random.Generator) -> dict[Shard, npt.NDArray[np.int64]]:
        shards = self._whole.shards(IMAGE)
        sizes: dict[Shard, int] = {}
        for number in tracked("draw", rng.permutation(len(shards)), min(SHARDS, len(shards)), "shards"):
            if len(sizes) >= SHARDS and sum(sizes.values()) >= count:
                break
            sizes[shards[number]] = self._usable(shards[number])
        self.drawn_from = sum(sizes.values())
        if not self.drawn_from:
            raise UserError(
                f"pool.url={self.url} has no usable sample ({counts(self.unusable) or 'empty'}); give a pool with"
                " captions and images"
            )
        chosen = np.sort(rng.choice(self.drawn_from, min(count, self.drawn_from), replace=False))
        starts = np.cumsum([0, *sizes.values()])
        parts = {
            shard: chosen[(chosen >= start) & (chosen < start + size)] - start
            for (shard, size), start in zip(sizes.items(), starts, strict=False)
        }
        return {shard: parts[shard] for shard in sorted(parts, key=lambda s: s.name) if len(parts[shard])}

    def _usable(self, shard: Shard) -> int:
        with self._whole.local(shard) as path:
            index = self._whole.index(shard, path)
        self.unusable.update(index.drops)
        return len(index)
