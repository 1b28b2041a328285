"""Whether all selected pairs can be read, found out before anything is trained on them or written."""

import logging
import math
import os
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from benchmark.core.batch import SampleError, counts
from benchmark.core.cached_files import read_cached
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_json
from benchmark.core.images import DECODER
from benchmark.core.paths import cache_folder, write_cached
from benchmark.core.progress import progress
from benchmark.pool.subset import Subset

log = logging.getLogger(__name__)
CHUNK = 256  # images that a thread decodes at a time


def unreadable_images(subset: Subset, sha256: str) -> Counter[str]:
    """Count, by reason, the samples whose image cannot be decoded; each is decoded once, and the counts are cached.

    Args:
        subset: the selected samples that are in the tars.
        sha256: hash of all selected uids.
    """
    files = [shard.version for shard in subset.shards]
    key = hash_json([sha256, files, DECODER], 16)
    cached = cache_folder("readable") / f"{key}.json"
    if (known := read_cached(cached)) is not None:
        return Counter(known)
    count, reasons = len(subset), Counter[str]()
    chunks = [range(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK)]
    with progress("check", count, "images") as advance, ThreadPoolExecutor(os.cpu_count()) as threads:
        for rows, of_rows in zip(chunks, threads.map(partial(_reasons, subset), chunks), strict=True):
            reasons.update(of_rows)
            advance(len(rows), "")
    write_cached(cached, reasons)
    return reasons


def _reasons(subset: Subset, rows: range) -> list[str]:
    """Return why images cannot be decoded, of the rows that cannot."""
    reasons = []
    for row in rows:
        try:
            subset[row]
        except SampleError as error:
            reasons.append(error.reason)
    return reasons


def check_readable(selected: int, lost: Mapping[str, int], tolerate: float) -> None:
    """Log in one line how many of the selected pairs cannot be read.

    Args:
        selected: how many were selected.
        lost: how many of them cannot be read, by reason.
        tolerate: fraction of the selected pairs that may be lost (``selection.tolerate``).

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
