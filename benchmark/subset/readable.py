"""Whether all selected pairs can be read, found out before anything is trained on them or written."""

import hashlib
import json
import logging
import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from benchmark.core.batch import SampleError, counts
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir, write_text
from benchmark.core.progress import progress
from benchmark.scoring.losses import rounded_up
from benchmark.subset.subset import Subset

log = logging.getLogger(__name__)
CHUNK = 256  # images that a thread decodes at a time


def unreadable_images(subset: Subset, sha256: str) -> Counter[str]:
    """Count, by reason, the samples whose image cannot be decoded; each is decoded once, and the counts are cached.

    Args:
        subset: the selected samples that are in the tars.
        sha256: hash of all selected uids.
    """
    files = [[shard.url, shard.fingerprint] for shard in subset.shards]
    key = hashlib.sha256(json.dumps([sha256, files]).encode()).hexdigest()[:16]
    cached = cache_dir() / "readable" / f"{key}.json"
    if cached.is_file():
        return Counter(json.loads(cached.read_text()))
    drops = Counter[str]()
    chunks = [range(start, min(start + CHUNK, len(subset))) for start in range(0, len(subset), CHUNK)]
    with progress("check", len(subset), "images") as advance, ThreadPoolExecutor(os.cpu_count()) as threads:
        for rows, reasons in zip(chunks, threads.map(partial(_reasons, subset), chunks), strict=True):
            drops += reasons
            advance(len(rows), "")
    write_text(cached, json.dumps(drops))
    return drops


def _reasons(subset: Subset, rows: range) -> Counter[str]:
    drops = Counter[str]()
    for row in rows:
        try:
            subset[row]
        except SampleError as error:
            drops[error.reason] += 1
    return drops


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
            f" selection.tolerate={rounded_up(count / selected):g}"
        )
    log.warning("subset: %s; selection.tolerate=%g allows it", text, tolerate)
