"""Whether all selected pairs can be read, found out before anything is trained on them or written."""

import logging
import math
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import IMAGE_MISSING, SampleError, counts
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_bytes, hash_json
from benchmark.core.images import DECODER
from benchmark.core.paths import cache_folder, cached_value
from benchmark.core.progress import progress
from benchmark.core.uids import UidArray, decode_uid, decode_uids, find_uids
from benchmark.pool.subset import Subset

log = logging.getLogger(__name__)
CHUNK = 256  # images that a thread decodes at a time
FEW = 5  # unreadable pairs that say little about a pool: tolerated in a selection of any size


def find_unreadable(subset: Subset, uids: UidArray) -> dict[str, str]:
    """Return which of some selected pairs, by uid in hex, lack an image that can be decoded, and why.

    `subset` holds the pairs that are in the tars. Each image is decoded once; the reasons are cached.
    """
    found = find_uids(subset.uids, uids)
    absent, rows = dict.fromkeys(decode_uids(uids[found < 0]), IMAGE_MISSING), found[found >= 0]
    files = [shard.version for shard in subset.shards]
    cached = cache_folder("readable") / f"{hash_json([hash_bytes(uids.tobytes()), files, DECODER], 16)}.json"
    return absent | dict(cached_value(cached, lambda: _check(subset, rows)))


def _check(subset: Subset, rows: npt.NDArray[np.int64]) -> dict[str, str]:
    broken = dict[str, str]()
    chunks = np.split(rows, range(CHUNK, len(rows), CHUNK))
    with progress("check", len(rows), "images") as advance, ThreadPoolExecutor(os.cpu_count()) as threads:
        for chunk, reasons in zip(chunks, threads.map(partial(_reasons, subset), chunks), strict=True):
            broken |= reasons
            advance(len(chunk), "")
    return broken


def _reasons(subset: Subset, rows: npt.NDArray[np.int64]) -> dict[str, str]:
    """Return the uids of the rows with an image that cannot be decoded, and why."""
    reasons = {}
    for row in rows:
        try:
            subset[row]
        except SampleError as error:
            reasons[decode_uid(subset.uids[row])] = error.reason
    return reasons


def tolerated(selected: int, tolerate: float) -> float:
    """Return how many of the selected pairs may be unreadable: at least `FEW`, unless `tolerate` is 0."""
    return max(FEW, tolerate * selected) if tolerate else 0.0


def check_readable(selected: int, lost: Mapping[str, int], tolerate: float, outcome: str) -> None:
    """Log how many chosen pairs cannot be read, by reason, and their `outcome`.

    Raises `UserError` if they are more than the fraction `tolerate` of the selected pairs.
    """
    count = sum(lost.values())
    if not count:
        return
    text = f"{count:,} chosen pair{'s' * (count > 1)} cannot be read ({counts(lost)})"
    if count > tolerated(selected, tolerate):
        remedy = f", or add {tolerating(count, selected)}" if count <= selected else ""
        allowed = f"selection.tolerate={tolerate:g} of {selected:,} allows"
        raise UserError(f"{text}, more than {allowed}; mend the pool's images{remedy}")
    log.warning("select: %s; %s", text, outcome)


def tolerating(count: int, selected: int) -> str:
    """Return the setting that tolerates `count` unreadable pairs."""
    return f"selection.tolerate={min(1, math.ceil(100 * count / selected) / 100):g}"
