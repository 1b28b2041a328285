"""Pairs of a pool that a scoring could not read: said in one line, an error where they are too many."""

import logging
import math

from benchmark.core import batch
from benchmark.core.batch import counts
from benchmark.core.errors import UserError
from benchmark.pool.pool import Pool
from benchmark.scoring.score_table import ScoreTable

log = logging.getLogger(__name__)
# Not lost: left out by a setting of the pool or by the filter, never downloaded, or there twice.
BY_DESIGN = {batch.NSFW, batch.DOWNLOAD_FAILED, batch.DUPLICATE_UID, batch.NO_SCORE, batch.NO_CLUSTER}
SHARDS = {batch.SHARD_CORRUPT, batch.SHARD_EMPTY}  # count shards, not pairs


def check_losses(pool: Pool, table: ScoreTable, shards: int, tolerate: float) -> None:
    """Log in one line which pairs were lost, by reason.

    Args:
        pool: the pool.
        table: its scores.
        shards: number of shards that the filter reads.
        tolerate: share of the pairs, and of the shards, that may be lost (``scoring.tolerate``).

    Raises:
        UserError: when more are lost, or when there is no pair at all.
    """
    if not len(table):
        raise pool.nothing_usable(table.drops)
    lost = {reason: count for reason, count in table.drops.items() if count and reason not in BY_DESIGN}
    if not lost:
        return
    broken = sum(lost.get(reason, 0) for reason in SHARDS)
    pairs = sum(lost.values()) - broken
    total = len(table) + pairs
    unknown = f", and an unknown number in {broken:,} of {shards:,} shards" if broken else ""
    text = f"{pairs:,} of {total:,} pairs cannot be read{unknown} ({counts(lost)})"
    share = max(pairs / total, broken / shards)
    if share > tolerate:
        raise UserError(
            f"score: {text}, more than scoring.tolerate={tolerate:g} allows; mend the pool, or go on with"
            f" scoring.tolerate={math.ceil(share * 100) / 100:g}"
        )
    log.warning("score: %s", text)
