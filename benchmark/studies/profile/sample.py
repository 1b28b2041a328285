"""A random sample of a pool that is a pool itself: nobody reads two billion images to get to know them."""

import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.errors import UserError
from benchmark.core.progress import progress
from benchmark.pool.pool import Pool, Shard
from benchmark.pool.tar_index import TarIndex

IMAGE = frozenset({"image"})
# A sample is drawn from this many shards, or from more where it needs more: from one alone it would be a sample of
# whatever was downloaded together, from all of them every tar's headers would be read.
SHARDS = 16


class PoolSample(Pool):
    """`count` usable samples of a pool, drawn without replacement; fewer where the pool has no more.

    Its scores and features are cached under its own key, so another filter, or the same command again, finds them.
    `asked` is `count`; `drawn_from` is how many usable samples the shards hold that it was drawn from, `unusable`
    counts the others there by reason. Every shard is read anew for each feature: copy a remote pool with
    ``task=reshard`` first.

    Raises:
        UserError: when the pool has no images, or no usable sample.
    """

    def __init__(self, pool: Pool, count: int, seed: int) -> None:
        super().__init__(pool.name, pool.url, pool.columns, pool.scale, sorted(pool.hidden))
        self.unusable: Counter[str] = Counter()
        self.asked = count
        self._whole = pool
        self._rows = self._draw(count, np.random.default_rng(seed))

    @property
    def key(self) -> str:
        """What identifies the sample in the cache: the pool, and which rows of which shards."""
        digest = hashlib.sha256()
        for shard, rows in self._rows.items():
            digest.update(f"{shard.name} {shard.fingerprint} ".encode() + rows.astype("<i8").tobytes())
        return f"{self._whole.key}-{digest.hexdigest()[:12]}"

    def shards(self, needs: frozenset[str]) -> list[Shard]:
        """Return the tars that samples were drawn from: it is images that are profiled."""
        return list(self._rows)

    def index(self, shard: Shard, path: Path, wanted: frozenset[str] = frozenset()) -> TarIndex:
        """Return the index of the drawn samples of a tar; all else is done by the rows of an index."""
        return self._whole.index(shard, path, wanted).take(self._rows[shard])

    def _draw(self, count: int, rng: np.random.Generator) -> dict[Shard, npt.NDArray[np.int64]]:
        shards = self._whole.shards(IMAGE)
        sizes: dict[Shard, int] = {}
        with progress("draw", min(SHARDS, len(shards)), "shards") as advance:
            for number in rng.permutation(len(shards)):
                if len(sizes) >= SHARDS and sum(sizes.values()) >= count:
                    break
                sizes[shards[number]] = self._usable(shards[number])
                advance(1, "")
        self.drawn_from = sum(sizes.values())
        if not self.drawn_from:
            raise UserError(f"pool {self.name} ({self.url}) has no usable sample: {dict(self.unusable)}")
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
