"""Open the samples of a selection, exactly k that can be read, and count planted noise."""

import logging
from collections import Counter

import numpy as np

from benchmark.core.batch import counts
from benchmark.core.errors import UserError
from benchmark.core.paths import cache_folder
from benchmark.core.uids import UidIndex, find_uids, unite_uids
from benchmark.pool.fetch import fetch_subset
from benchmark.pool.other_captions import CaptionSources
from benchmark.pool.pool import Pool
from benchmark.pool.readable import check_readable, find_unreadable, tolerated, tolerating
from benchmark.pool.reshard import subset_identity, write_shards
from benchmark.pool.streamed_subset import StreamedSubset, holds
from benchmark.pool.subset import Subset, index_tars
from benchmark.results.gallery import planted_kinds
from benchmark.run.config import ALL
from benchmark.run.job import Job
from benchmark.run.select import Selected, choose, write_chosen
from benchmark.selection.selection import Selection

log = logging.getLogger(__name__)
AnySubset = Subset | StreamedSubset


def open_samples(job: Job, selected: Selected) -> tuple[AnySubset, Selected]:
    """Open the samples with their other captions; return them with their selection, see `open_readable`."""
    is_stream = job.cfg.training.source == "stream"
    return open_stream(job, selected) if is_stream else open_readable(job, selected, job.captions)


def open_readable(
    job: Job, selected: Selected, sources: CaptionSources | None = None
) -> tuple[Subset, Selected]:
    """Open the selected samples; return them with the selection that they are.

    Pairs with an unreadable image are passed over: the selector chooses again without them, until it chooses only
    readable pairs. The samples of a remote pool are first fetched into the cache.

    Raises `UserError` if too few pairs are left, or more were passed over than ``selection.tolerate`` allows.
    """
    pool, selection, tolerate = job.pool, selected.selection, job.cfg.selection.tolerate
    k, chosen, everything = selected.manifest.k, len(selection.uids), job.cfg.size.samples == ALL
    index_tars(pool, job.engine)
    images: Pool | None = None
    checked, unreadable = selection.uids[:0], dict[str, str]()
    while True:
        new = selection.uids[find_uids(checked, selection.uids) < 0]
        images = pool if pool.is_local else fetch_subset(pool, new, images)
        captions = sources.of(selection.uids) if sources else None
        subset = Subset(images, selection.uids, selection.epochs, captions, metadata=pool)
        found = find_unreadable(subset, new)
        if not found or len(unreadable) > chosen:
            break
        unreadable |= found
        checked = unite_uids([checked, new])
        left = selection.scored - len(found)
        if left < k and not everything and not job.selector.repeats:
            remedy = f"choose size={left * pool.scale} or less"
            if len(unreadable) > tolerated(left, tolerate):
                remedy += f" with {tolerating(len(unreadable), left)}"
            lost = counts(Counter(unreadable.values()))
            raise UserError(f"size asks for {k:,} pairs, but {left:,} can be read ({lost}); {remedy}")
        selection = choose(job, selected.table, unreadable)
    if captions is not None:
        log.info("other captions: %s", ", ".join(f"{n:,} {name}" for name, n in captions.counts().items()))
    if unreadable:
        is_draw = job.selector.repeats or not job.bounds.rank
        others = "replaced by the next of the draw" if is_draw else "replaced by the next in rank"
        outcome = "left out" if everything else others
        check_readable(chosen, Counter(unreadable.values()), tolerate, outcome)
        selected = write_chosen(job, selected.table, selection, unreadable)
    return subset, selected


def open_stream(job: Job, selected: Selected) -> tuple[StreamedSubset, Selected]:
    """Open the selected samples, see `open_readable`, as a stream, resharded first unless the pool is just them.

    Raises `UserError` if epochs differ, or if its tars lack pairs.
    """
    if len(selected.selection.epochs) > 1:
        raise UserError(
            f"selector={job.choices['selector']} draws other pairs for each epoch, and a stream has one set of tars;"
            " set training.source=index"
        )
    pool, tolerate = job.pool, job.cfg.selection.tolerate
    location = pool.url
    if not holds(location, selected.selection.epochs[0]):
        subset, selected = open_readable(job, selected)
        (uids,) = selected.selection.epochs
        size = max(1, min(1_000, len(uids) // 64))  # what is before the begin of a stream is read, too
        cached = cache_folder("subsets", f"stream-{subset_identity(pool, uids, size)}")
        location = str(job.cfg.training.shards or cached)
        log.info("subset: resharding %s pairs to %s", f"{len(uids):,}", location)
        write_shards(subset.pool, uids, location, job.engine, size, pool)
    (uids,), images = selected.selection.epochs, pool if pool.is_local else None
    streamed = StreamedSubset(location, uids, job.captions.of(uids), tolerate, images)
    if len(streamed) < len(uids):
        raise UserError(
            f"{location} lists {len(uids):,} pairs and has {len(streamed):,}; write it again by"
            " task=reshard, or set training.source=index"
        )
    return streamed, selected


def open_subset(pool: Pool, selection: Selection) -> Subset:
    """Open the samples of a selection that is not made again: pairs that cannot be read are left out.

    Raises `UserError` if there are more than 1% of these.
    """
    uids = selection.uids
    images = pool if pool.is_local else fetch_subset(pool, uids)
    subset = Subset(images, uids, selection.epochs, metadata=pool)
    lost = Counter(find_unreadable(subset, uids).values())
    check_readable(len(uids), lost, 0.01, "left out")
    return subset


def kept_by_noise(pool: Pool, selection: Selection) -> dict[str, int]:
    """Return how many samples of all epochs have each kind of planted noise; empty for pools other than the demo."""
    index, kept = UidIndex(selection.uids), Counter[str]()
    draws = np.bincount(index.find(np.concatenate(selection.epochs)), minlength=len(selection.uids))
    for kind, count in zip(planted_kinds(pool, selection.uids), draws.tolist(), strict=True):
        kept[kind] += count
    return {kind: count for kind, count in sorted(kept.items()) if count and kind}
