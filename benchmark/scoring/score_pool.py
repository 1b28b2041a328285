"""Scores of a pool: one parquet part per shard, in a cache that all sizes and sweeps share."""

import logging
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmark.core import batch
from benchmark.core.batch import DUPLICATE_UID, EXCLUDED, counts
from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.prefetch import prefetch_map
from benchmark.core.uids import (
    UID_DTYPE,
    UidArray,
    UidIndex,
    find_uids,
    first_of_each,
    read_subset,
    sort_uids,
    unite_uids,
)
from benchmark.core.usage import Seconds, now, since
from benchmark.engine.base import Engine
from benchmark.pool.exclusion import excluded_uids
from benchmark.pool.pool import Pool
from benchmark.scoring.corpus_fit import fit_on_corpus
from benchmark.scoring.score_folder import save_survivors, score_paths, scored_shards
from benchmark.scoring.score_parts import (
    SCORING,
    add_filters,
    add_shards,
    read_part,
    read_part_info,
    write_part,
)
from benchmark.scoring.score_table import ScoreTable, join_scores
from benchmark.scoring.shard_reader import PoolBatches, check_columns, shards_without_features
from benchmark.scoring.shard_work import ExtractShard, ScoreShard, run_on_shards
from filters.base import Composite, Filter, Scores
from filters.composite import Cascade
from filters.embeddings.corpus import CorpusFilter

log = logging.getLogger(__name__)
# Not lost: left out by a setting of the pool or by the filter, never downloaded, or there twice.
BY_DESIGN = {
    batch.NSFW,
    batch.DOWNLOAD_FAILED,
    batch.DUPLICATE_UID,
    batch.NO_SCORE,
    batch.NO_CLUSTER,
    EXCLUDED,
}
SHARDS = {batch.SHARD_CORRUPT, batch.SHARD_EMPTY}  # count shards, not pairs


def score_pool(pool: Pool, scorer: Filter, engine: Engine) -> ScoreTable:
    """Score every sample of `pool` that is not excluded, or read the parts that an earlier run wrote.

    Pairs on a list of `Pool.exclude` have no part in corpus statistics, ranks or the table. Cached scores and
    features that do not depend on the corpus stay when a list changes. Raises `UserError` when the filter needs what
    the pool does not have, or reads what the pool hides.
    """
    check_columns(pool, scorer)
    excluded, survivors = excluded_uids(pool, scored_shards(pool, scorer)), None
    if excluded is None:
        return score_among(pool, scorer, engine, None)
    if len(excluded) and scorer.corpus_dependent:
        survivors = save_survivors(pool, _uids_without(pool, scorer, excluded))
    return score_among(pool, scorer, engine, survivors).without(excluded, EXCLUDED)


def _uids_without(pool: Pool, scorer: Filter, excluded: UidArray) -> UidArray:
    """Return the sorted uids of the pool without some of them."""
    batches = (b for s in scored_shards(pool, scorer) for b in pool.batches(s, frozenset(), 65536, Counter()))
    uids = unite_uids([np.empty(0, UID_DTYPE), *(batch.uids for batch in batches)])
    return uids[find_uids(excluded, uids) < 0]


def score_among(pool: Pool, scorer: Filter, engine: Engine, survivors: Path | None) -> ScoreTable:
    """Score the pool, or read its parts (see `score_paths`).

    A filter whose scores depend on the corpus is fitted on the `survivors`, by default the whole pool, and scores
    them. Other scores are of the whole pool, and shared by all cascades.
    """
    if not scorer.corpus_dependent:
        survivors = None
    parts = score_paths(pool, scorer, survivors)
    missing = [shard for shard, path in parts.items() if not intact(path)]
    if not missing:
        name = scorer.display_name
        log.info("score: reusing the scores of %s on all %d shards of pool %s", name, len(parts), pool.name)
        reused = 1.0
    elif isinstance(scorer, Composite):
        reused = _score_composite(pool, scorer, engine, survivors, list(parts.values()))
    else:
        of = f"{len(missing)} of {len(parts)} shards of pool {pool.name}"
        log.info("score: %s on %s", scorer.display_name, of)
        # Fitting is part of the cost of scores: its seconds are divided among all parts.
        fitting = fit_filter(pool, scorer, engine, survivors).times(1 / len(parts))
        to_score = {shard: parts[shard] for shard in missing}
        run_on_shards("score", ScoreShard(pool, scorer, to_score, fitting, survivors), engine)
        reused = 1 - len(missing) / len(parts)
    return replace(load_parts(parts.values()), reused=reused, pool=pool)


def fit_filter(pool: Pool, scorer: Filter, engine: Engine, survivors: Path | None = None) -> Seconds:
    """Gather a filter's statistics of the `survivors`, by default of the whole pool; extract its features first.

    Returns the seconds without the extraction; 0 for a filter that does not depend on the corpus.
    """
    if not scorer.corpus_dependent:
        return Seconds()
    if lacking := shards_without_features(pool, scorer, pool.shards(scorer.sources)):
        run_on_shards("extract", ExtractShard(pool, dict.fromkeys(lacking, (scorer,))), engine)
    if isinstance(scorer, CorpusFilter):
        return fit_on_corpus(pool, scorer, engine, survivors)
    started = now()
    scorer.fit(PoolBatches(pool, scorer, None if survivors is None else UidIndex(read_subset(survivors))))
    return since(started)


def load_parts(paths: Iterable[Path]) -> ScoreTable:
    """Read the scores of some parts. A uid that occurs more than once counts once, with its best score."""
    paths = list(paths)
    infos = [read_part_info(path) for path in paths]
    drops = sum((info.drops for info in infos), Counter[str]())
    count, end = sum(info.rows for info in infos), 0
    uids = np.empty(count, UID_DTYPE)
    scores = np.empty(count, np.result_type(*(info.dtype for info in infos)))
    for some_uids, some_scores in prefetch_map(read_part, paths, 1):
        start, end = end, end + len(some_uids)
        uids[start:end], scores[start:end] = some_uids, some_scores
    order = sort_uids(uids)
    uids, scores = uids[order], scores[order]
    first = first_of_each(uids)
    if not first.all():
        scores = np.fmax.reduceat(scores, np.flatnonzero(first))  # NaN if all are
        uids = uids[first]
        drops[DUPLICATE_UID] += count - len(uids)
    return ScoreTable(uids, scores, drops, add_shards(info.costs for info in infos))


def _score_composite(
    pool: Pool, scorer: Composite, engine: Engine, survivors: Path | None, parts: Sequence[Path]
) -> float:
    """Score with each of the composite's filters, write the parts; return the fraction of parts that were reused.

    In a cascade, a filter whose scores depend on the corpus is fitted on the pairs that the filters before it keep.
    """
    tables: list[ScoreTable] = []
    combining = Seconds()
    for name, part in scorer.filters.items():
        started, left = now(), survivors
        if tables and isinstance(scorer, Cascade) and part.corpus_dependent:
            uids, columns = _join_among(tables, survivors)
            kept = uids[scorer.survivors(columns, uids)]
            log.info("score: %s of %s pairs reach %s", f"{len(kept):,}", f"{len(uids):,}", name)
            left = save_survivors(pool, kept)
        combining += since(started)
        tables.append(score_among(pool, part, engine, left))
    started = now()
    uids, columns = _join_among(tables, survivors)
    scores = scorer.combine(columns, uids)
    # Drop counts and the filters' seconds belong to the whole pool, as the filters may read different shards: they
    # are in the first part, with the seconds of combining so far.
    drops = Counter[str]()
    for table in tables:
        drops |= table.drops  # the filters read the same pool: a sample that two of them drop counts once
    # Equal parts, whatever shards the filters read: the scores of a composite are always read whole.
    ends = [len(uids) * number // len(parts) for number in range(len(parts) + 1)]
    for path, rows in zip(parts, map(slice, ends, ends[1:]), strict=True):
        costs = {SCORING: combining + since(started)}
        if path == parts[0]:
            costs = add_filters([*(table.costs for table in tables), costs])
        write_part(path, uids[rows], scores[rows], drops if path == parts[0] else {}, costs)
        started, combining = now(), Seconds()
    return min(table.reused for table in tables)


def _join_among(tables: Sequence[ScoreTable], survivors: Path | None) -> tuple[UidArray, list[Scores]]:
    """Return the joined scores of the `survivors`, by default of all pairs; see `join_scores`."""
    uids, columns = join_scores(tables)
    if survivors is None:
        return uids, columns
    rows = np.flatnonzero(UidIndex(read_subset(survivors)).find(uids) >= 0)
    return uids[rows], [column[rows] for column in columns]


def check_losses(pool: Pool, table: ScoreTable, shards: int, tolerate: float) -> None:
    """Log in one line which pairs were lost, by reason.

    Raises `UserError` if all are, or more of the pairs, or of the filter's `shards`, than the fraction `tolerate`.
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
    fraction = max(pairs / total, broken / shards)
    if fraction > tolerate:
        raise UserError(
            f"score: {text}, more than scoring.tolerate={tolerate:g} allows; mend the pool, or go on with"
            f" scoring.tolerate={math.ceil(fraction * 100) / 100:g}"
        )
    log.warning("score: %s", text)
