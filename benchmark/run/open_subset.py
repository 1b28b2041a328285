"""Open the samples of a selection, and count what of it cannot be read or is planted noise."""

import logging
from collections import Counter
from dataclasses import replace

import numpy as np

from benchmark.core.launch import is_main_process
from benchmark.core.uids import UidIndex
from benchmark.pool.fetch import fetch_subset
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.readable import check_readable, unreadable_images
from benchmark.pool.subset import Subset
from benchmark.run.choose import Chosen
from benchmark.selection.selection import Selection, write_selection

log = logging.getLogger(__name__)


def open_subset(
    pool: Pool, selection: Selection, sources: CaptionSources | None = None, tolerate: float = 0.0
) -> Subset:
    """Open the selected samples; a remote pool's are first fetched into the cache.

    Raises `UserError` if more than the share `tolerate` of them cannot be read.
    """
    subset = _open(pool, selection, sources)
    subset.missing += unreadable_images(subset, selection.sha256)
    check_readable(len(selection.uids), subset.lost, tolerate)
    return subset


def _open(pool: Pool, selection: Selection, sources: CaptionSources | None) -> Subset:
    uids = selection.uids
    captions = sources.of(uids) if sources else None
    if captions is not None:
        log.info("other captions: %s", ", ".join(f"{n:,} {name}" for name, n in captions.counts().items()))
    if pool.is_local:
        return Subset(pool, uids, selection.epochs, captions)
    return Subset(fetch_subset(pool, uids), uids, selection.epochs, captions, metadata=pool)


def note_lost(chosen: Chosen, subset: Subset) -> Chosen:
    """Return `chosen` with the counts of selected samples that cannot be read in its manifest, also on disk."""
    manifest = replace(chosen.manifest, lost=subset.lost)
    if subset.lost and is_main_process():
        path = chosen.paths[0]
        write_selection(path.with_stem(path.stem.partition("-epoch")[0]), chosen.selection, manifest)
    return replace(chosen, manifest=manifest)


def kept_by_noise(pool: Pool, selection: Selection) -> dict[str, int]:
    """Return how many samples of all epochs have each kind of planted noise; empty for pools other than the demo."""
    if "noise" not in pool.hidden:
        return {}
    index = UidIndex(selection.uids)
    draws = np.bincount(index.find(np.concatenate(selection.epochs)), minlength=len(selection.uids))
    kept = Counter[str]()
    needs = frozenset({"noise"})
    for shard in pool.shards(needs):
        for batch in pool.batches(shard, needs, 65536, Counter()):
            rows = index.find(batch.uids)
            for kind in set(batch.columns["noise"].tolist()):
                kept[str(kind)] += int(draws[rows[(rows >= 0) & (batch.columns["noise"] == kind)]].sum())
    return {kind: count for kind, count in sorted(kept.items()) if count}
