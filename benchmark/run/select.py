"""``task=select``: score the pool, keep exactly k, write the subset file."""

import logging
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.core.batch import CONTAMINATED
from benchmark.core.bounds import Bounds
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_file, hash_json
from benchmark.core.paths import cache_folder, user_path
from benchmark.core.records import finite_or_none
from benchmark.core.source_code import own_code
from benchmark.core.uids import are_sorted, encode_uids, find_uids, unite_uids
from benchmark.results.provenance import library_versions
from benchmark.run.config import ALL, filter_settings, recorded, resolved
from benchmark.run.job import Job
from benchmark.run.output import print_result
from benchmark.run.score import score_pairs
from benchmark.run.sizes import check_budget
from benchmark.scoring.score_folder import score_folder, shards_key
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.bounded import select_within
from benchmark.selection.manifest import Manifest
from benchmark.selection.selection import Selection, subset_files, write_selection
from filters.score_file import FromRows

log = logging.getLogger(__name__)
READABLE = "-readable"  # ends the names of subset files without the unreadable pairs


@dataclass(frozen=True)
class Selected:
    """A selection with its manifest, the subset file of each epoch, and the scores that it was made from."""

    selection: Selection
    manifest: Manifest
    paths: list[Path]
    table: ScoreTable


def select(job: Job) -> None:
    """Select; print the path of the subset file, or of each epoch's (their manifest is in the same folder)."""
    for path in select_pairs(job, score_pairs(job)).paths:
        print_result(str(path))


def select_pairs(job: Job, table: ScoreTable) -> Selected:
    """Select exactly k pairs, whether or not their images can be read; write the subset files and their manifest."""
    if job.pool.scale > 1 and job.k is not None:
        paper, here = f"{job.k * job.pool.scale:,}", f"{job.k:,}"
        log.info("size: %s pairs of the paper's pool are %s here (scale 1:%d)", paper, here, job.pool.scale)
    log.info("score: %s", score_folder(job.pool, job.filter))
    if job.contaminated is not None:
        table = table.without(job.contaminated, CONTAMINATED)
    return write_chosen(job, table, choose(job, table, {}), {})


def choose(job: Job, table: ScoreTable, unreadable: Mapping[str, str]) -> Selection:
    """Return the selection of k pairs without those, by uid in hex with the reason, that cannot be read."""
    drops = table.drops + Counter(unreadable.values())
    table = replace(table, drops=drops, unreadable=encode_uids(sorted(unreadable)))
    return select_within(job.bounds, table, partial(_choose, job))


def write_chosen(
    job: Job, table: ScoreTable, selection: Selection, unreadable: Mapping[str, str]
) -> Selected:
    """Write the subset files and the manifest of a selection made by `choose`."""
    path = subset_path(job)
    if unreadable:
        path = path.with_stem(path.stem + READABLE)
    paths = subset_files(path, selection)
    manifest = Manifest(
        pool=job.pool.name,
        filter=job.choices["filter"],
        config=filter_record(job),
        k=len(selection.epochs[0]),
        seed=job.seed,
        threshold=finite_or_none(selection.threshold),
        scored=selection.scored,
        tied=selection.tied,
        tied_kept=selection.tied_kept,
        drops=selection.drops,
        sha256=selection.sha256,
        distinct=len(selection.uids),
        files=[path.name for path in paths],
        selector=job.choices["selector"],
        selector_config=recorded(job.cfg.selector),
        versions=library_versions(),
        lost=dict(sorted(Counter(unreadable.values()).items())),
    )
    write_selection(path, selection, manifest)
    _log_selection(manifest, selection.threshold, job.bounds)
    if len(paths) > 1:
        log.info("select: %d different epochs with %s distinct pairs", len(paths), f"{manifest.distinct:,}")
    log.info("select: %s", paths[0])
    return Selected(selection, manifest, paths, table)


def filter_record(job: Job) -> dict[str, Any]:
    """Return the settings of the filter, with a hash of the user's code, files and rows that its scores depend on."""
    readers = [job.filter, *job.selector.readers()]
    leaves = [leaf for reader in readers for leaf in reader.leaves()]
    classes = {type(job.selector)}.union(*(reader.classes() for reader in readers))
    own = sorted(filter(None, map(own_code, classes)))
    own += [hash_file(user_path(str(file))) for leaf in leaves for file in leaf.uses]
    own += [leaf.content() for leaf in leaves if isinstance(leaf, FromRows)]
    settings: dict[str, Any] = recorded(filter_settings(job.cfg))
    return settings | ({"content": hash_json(own, 8)} if own else {})


def _log_selection(manifest: Manifest, threshold: float, bounds: Bounds) -> None:
    k, scored = f"{manifest.k:,}", f"{manifest.scored:,}"
    if not bounds.rank:
        how = f", drawn with seed {manifest.seed}" if manifest.k < manifest.scored else ""
        log.info("select: %s of the %s pairs that pass are kept%s", k, scored, how)
        return
    lowest, score = ("highest", -threshold) if bounds.low_is_good else ("lowest", threshold)
    if manifest.distinct < manifest.k:
        k = f"{k} draws of {manifest.distinct:,}"
    log.info("select: %s of %s pairs are kept; their %s score is %.4g", k, scored, lowest, score)
    if manifest.tied_kept < manifest.tied:
        tied, kept = f"{manifest.tied:,}", f"{manifest.tied_kept:,}"
        log.info("select: %s pairs tie at that score; seed %d draws %s of them", tied, manifest.seed, kept)


def _choose(job: Job, table: ScoreTable) -> Selection:
    """Return the selection of k pairs, or of all pairs with a score, or a percentage of them."""
    k = job.k
    if k is None:
        readable = int((~np.isnan(table.scores)).sum())
        passing, k, size = readable + len(table.unreadable), readable, str(job.cfg.size.samples)
        if size != ALL:  # of all pairs that pass, whether or not they can be read
            k = max(1, round(passing * float(size.removesuffix("%")) / 100))
            log.info("size: %s of the %s pairs that pass are %s", size, f"{passing:,}", f"{k:,}")
        if "budget" in job.needs(job.task):
            check_budget(job.cfg, job.overrides, k)
    epochs = -(-_most_samples(job) // max(1, k))
    selection = job.selector.select(table, k, epochs, job.seed, job.pool, job.engine)
    scored = table.uids[~np.isnan(table.scores)]
    for uids in selection.epochs:
        distinct, known = len(unite_uids([uids])), bool((find_uids(scored, uids) >= 0).all())
        if len(uids) != k or not known or not are_sorted(uids) or (distinct < k and not job.selector.repeats):
            raise UserError(
                f"selector={job.choices['selector']} gave {len(uids):,} pairs, {distinct:,} of them distinct, of"
                f" {k:,}; it must return exactly k different pairs per epoch, of those with a score, sorted by uid"
            )
    return selection


def subset_path(job: Job) -> Path:
    """Return the path of the subset file (see `subset_files`); its name changes with the weights of the filter.

    Its folder changes with the content of the pool.
    """
    suffix, size = "", str(job.cfg.size.samples).replace("%", "pct") if job.k is None else job.k
    if job.choices["selector"] != "best":  # the default selector needs no suffix
        samples = _most_samples(job)
        epochs = samples if job.k is None else -(-samples // job.k)
        own = [code] if (code := own_code(type(job.selector))) else []
        inputs = [resolved(job.cfg.selector), epochs, *own]
        suffix = f"-{job.choices['selector']}-{hash_json(inputs, 8)}"
    if bounds := job.bounds:
        suffix += f"-within-{hash_json(asdict(bounds), 8)}"
    if job.left_out:
        suffix += f"-without-{hash_json(job.left_out, 8)}"
    name = f"{job.filter.key()}{suffix}-{size}-seed{job.seed}.npy"
    return cache_folder("selections", job.pool.key, shards_key(job.pool, job.filter)) / name


def written_subset(path: Path) -> Path:
    """Return the path that a run's subset file was written to, given its `subset_path`."""
    readable = path.with_stem(path.stem + READABLE)
    return readable if readable.with_suffix(".json").is_file() else path


def _most_samples(job: Job) -> int:
    """Return the largest budget of the downstream models; its epochs are ceil(budget / k)."""
    return max(int(model.training.samples_seen) for model in job.cfg.downstream.values())
