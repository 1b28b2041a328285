"""Open the samples of a selection, and count those that cannot be read or are planted noise."""

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmark.core.errors import UserError
from benchmark.core.launch import is_main_process
from benchmark.core.paths import cache_folder
from benchmark.core.uids import UidArray, UidIndex
from benchmark.engine.base import Engine
from benchmark.pool.fetch import fetch_subset
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.readable import check_readable, unreadable_images
from benchmark.pool.reshard import SHARD_SIZE, reshard, subset_identity
from benchmark.pool.streamed_subset import StreamedSubset, holds
from benchmark.pool.subset import Subset, index_tars, selected_samples, use_metadata_captions
from benchmark.results.gallery import planted_kinds
from benchmark.run.job import Job
from benchmark.run.select import Selected
from benchmark.selection.selection import Selection, write_selection

log = logging.getLogger(__name__)
AnySubset = Subset | StreamedSubset


def open_samples(job: Job, selected: Selected) -> tuple[AnySubset, Selected]:
    """Open the selected samples with their other captions; note in the manifest those that cannot be read."""
    if job.cfg.training.source == "stream":
        streamed = open_stream(job, selected.selection)
        return streamed, note_lost(selected, streamed)
    index_tars(job.pool, job.engine)
    subset = open_subset(job.pool, selected.selection, job.captions, job.cfg.selection.tolerate)
    return subset, note_lost(selected, subset)


def open_stream(job: Job, selection: Selection) -> StreamedSubset:
    """Open the selected samples as a stream; they are resharded first, unless the pool is a subset of just them.

    Raises `UserError` if epochs differ, or if more of them are missing than ``selection.tolerate`` allows.
    """
    if len(selection.epochs) > 1:
        raise UserError(
            f"selector={job.choices['selector']} draws other pairs for each epoch, and a stream has one set of tars;"
            " set training.source=index"
        )
    pool, uids, tolerate = job.pool, selection.uids, job.cfg.selection.tolerate
    location = pool.url
    if not holds(location, uids):
        size = max(1, min(1_000, len(uids) // 64))  # what is before the begin of a stream is read, too
        cached = cache_folder("subsets", f"stream-{subset_identity(pool, uids, size)}")
        location = str(job.cfg.training.shards or cached)
        log.info("subset: resharding %s pairs to %s", f"{len(uids):,}", location)
        index_tars(pool, job.engine)
        write_shards(pool, uids, location, job.engine, size)
    captions, images = job.captions.of(uids), pool if pool.is_local else None
    streamed = StreamedSubset(location, uids, captions, tolerate, images)
    check_readable(len(uids), streamed.lost, tolerate)
    return streamed


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


def write_shards(
    pool: Pool,
    uids: UidArray,
    location: str | Path,
    engine: Engine,
    shard_size: int = SHARD_SIZE,
    every_member: bool = False,
) -> int:
    """Reshard pairs of an indexed pool to a folder or URL; return how many its tars hold. See `reshard`."""
    local = pool if pool.is_local else fetch_subset(pool, uids)
    parts = use_metadata_captions(selected_samples(local, uids), pool)
    return reshard(local, parts, location, engine, shard_size, pool, every_member)


def note_lost(selected: Selected, subset: AnySubset) -> Selected:
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
