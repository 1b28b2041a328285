"""Open the samples of a selection, and count those that cannot be read or are planted noise."""

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
from benchmark.pool.subset import Subset, index_tars
from benchmark.results.gallery import planted_kinds
from benchmark.run.job import Job
from benchmark.run.select import Selected
from benchmark.selection.selection import Selection, write_selection

log = logging.getLogger(__name__)


def open_samples(job: Job, selected: Selected) -> tuple[Subset, Selected]:
    """Open the selected samples with their other captions; note in the manifest those that cannot be read."""
    index_tars(job.pool, job.engine)
    subset = open_subset(job.pool, selected.selection, job.captions, job.cfg.selection.tolerate)
    return subset, note_lost(selected, subset)


def open_subset(
    pool: Pool, selection: Selection, sources: CaptionSources | None = None, tolerate: float = 0.0
) -> Subset:
    """Open the selected samples; those of a remote pool are first fetched into the cache.

    Raises `UserError` if more than the fraction `tolerate` of them cannot be read.
    """
    uids = selection.uids
    captions = sources.of(uids) if sources else None
    if captions is not None:
        log.info("other captions: %s", ", ".join(f"{n:,} {name}" for name, n in captions.counts().items()))
    if pool.is_local:
        subset = Subset(pool, uids, selection.epochs, captions)
    else:
        subset = Subset(fetch_subset(pool, uids), uids, selection.epochs, captions, metadata=pool)
    subset.missing += unreadable_images(subset, selection.sha256)
    check_readable(len(uids), subset.lost, tolerate)
    return subset


def note_lost(selected: Selected, subset: Subset) -> Selected:
    """Return `selected` with the counts of samples that cannot be read in its manifest, also on disk."""
    manifest = replace(selected.manifest, lost=subset.lost)
    if subset.lost and is_main_process():
        path = selected.paths[0]
        write_selection(path.with_stem(path.stem.partition("-epoch")[0]), selected.selection, manifest)
    return replace(selected, manifest=manifest)


def kept_by_noise(pool: Pool, selection: Selection) -> dict[str, int]:
    """Return how many samples of all epochs have each kind of planted noise; empty for pools other than the demo."""
    index, kept = UidIndex(selection.uids), Counter[str]()
    draws = np.bincount(index.find(np.concatenate(selection.epochs)), minlength=len(selection.uids))
    for kind, count in zip(planted_kinds(pool, selection.uids), draws.tolist(), strict=True):
        kept[kind] += count
    return {kind: count for kind, count in sorted(kept.items()) if count and kind}
