"""Random captions of a pool, without reading all of it."""

from collections import Counter

import numpy as np

from benchmark.core.errors import UserError
from benchmark.core.progress import progress
from benchmark.pool.pool import Pool

TEXT = frozenset({"text"})
# Captions are drawn from this many shards, or from more where these have too few, and from the first rows of each.
SHARDS, ROWS = 16, 20_000


def sample_captions(pool: Pool, count: int, seed: int) -> list[str]:
    """Return `count` usable captions of a pool, drawn without replacement; all of them where it has fewer.

    Memory is bounded by `SHARDS` times `ROWS`, or times `count` where that is more. Where the pool has metadata, only
    that is read.

    Raises:
        UserError: when the pool has no usable caption.
    """
    rng = np.random.default_rng(seed)
    shards = pool.shards(TEXT)
    captions: list[str] = []
    unusable: Counter[str] = Counter()
    with progress("captions", min(SHARDS, len(shards)), "shards") as advance:
        for position, number in enumerate(rng.permutation(len(shards))):
            if position >= SHARDS and len(captions) >= count:
                break
            batches = pool.batches(shards[number], TEXT, max(ROWS, count), unusable)
            captions += next((batch.texts for batch in batches if batch.texts), [])
            advance(1, "")
    if not captions:
        reasons = ", ".join(f"{number:,} {reason}" for reason, number in sorted(unusable.items())) or "empty"
        raise UserError(
            f"pool.url={pool.url} has no usable caption ({reasons}); name their column with pool.columns.text"
        )
    rows = rng.choice(len(captions), min(count, len(captions)), replace=False)
    return [captions[row] for row in rows]
