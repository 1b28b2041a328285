"""Whether all selected pairs can be read, found out before anything is trained on them or written."""

import json
import logging
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from benchmark.core.batch import SampleError, counts
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.paths import cache_folder, write_text
from benchmark.core.progress import progress
from benchmark.core.seals import intact
from benchmark.core.uids import UidArray, find_uids, unite_uids
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.pool.subset import Subset, selected_samples

log = logging.getLogger(__name__)
CHUNK = 256  # images that a thread decodes at a time


def unreadable_images(subset: Subset, sha256: str) -> Counter[str]:
    """Count, by reason, the samples whose image cannot be decoded; each is decoded once, and the counts are cached.

    Args:
        subset: the selected samples that are in the tars.
        sha256: hash of all selected uids.
    """
    cached = _cached(subset.shards, sha256)
    if not intact(cached):
        write_text(cached, json.dumps(Counter(_reasons_by_row(subset).values())))
    return Counter(json.loads(cached.read_text()))


def count_unreadable(pool: Pool, selections: Sequence[tuple[UidArray, str]]) -> None:
    """Cache the counts of `unreadable_images` for several selections; an image of several is decoded once.

    Args:
        pool: a local pool.
        selections: the uids of each, sorted, and the hash of them.
    """
    missing: dict[Path, UidArray] = {}
    for uids, sha256 in selections:
        cached = _cached([part.shard for part in selected_samples(pool, uids)], sha256)
        if not intact(cached):
            missing[cached] = uids
    if len(missing) < 2:
        return
    union = Subset(pool, unite_uids(list(missing.values())))
    reasons = _reasons_by_row(union)
    rows = np.array(list(reasons), np.int64)
    for cached, uids in missing.items():
        selected = rows[find_uids(uids, union.uids[rows]) >= 0]
        write_text(cached, json.dumps(Counter(reasons[row] for row in selected.tolist())))


def _cached(shards: Iterable[Shard], sha256: str) -> Path:
    """Return where the counts of a selection are, whose samples are in these tars."""
    files = [[shard.url, shard.fingerprint] for shard in shards]
    key = hash_json([sha256, files], 16)
    return cache_folder("readable") / f"{key}.json"


def _reasons_by_row(subset: Subset) -> dict[int, str]:
    """Return why images cannot be decoded, by the rows of those that cannot."""
    reasons: dict[int, str] = {}
    chunks = [range(start, min(start + CHUNK, len(subset))) for start in range(0, len(subset), CHUNK)]
    with progress("check", len(subset), "images") as advance, ThreadPoolExecutor(os.cpu_count()) as threads:
        for rows, of_rows in zip(chunks, threads.map(partial(_reasons, subset), chunks), strict=True):
            reasons |= of_rows
            advance(len(rows), "")
    return reasons


def _reasons(subset: Subset, rows: range) -> dict[int, str]:
    reasons: dict[int, str] = {}
    for row in rows:
        try:
            subset[row]
        except SampleError as error:
            reasons[row] = error.reason
    return reasons


def check_readable(selected: int, lost: Mapping[str, int], tolerate: float) -> None:
    """Log in one line how many of the selected pairs cannot be read.

    Args:
        selected: how many were selected.
        lost: those that cannot be read, by reason.
        tolerate: share of the selected pairs that may be lost (``selection.tolerate``).

    Raises:
        UserError: when more are lost.
    """
    count = sum(lost.values())
    if not count:
        return
    text = f"{count:,} of the {selected:,} selected pairs cannot be read ({counts(lost)})"
    if count > tolerate * selected:
        raise UserError(
            f"{text}, which leaves {selected - count:,}; complete the pool's images, or go on with fewer pairs by"
            f" selection.tolerate={math.ceil(100 * count / selected) / 100:g}"
        )
    log.warning("subset: %s; selection.tolerate=%g allows it", text, tolerate)
