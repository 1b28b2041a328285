"""Scores of a pool: one parquet part per shard, in a cache that all sizes and sweeps share."""

import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmark.core import batch
from benchmark.core.batch import DUPLICATE_UID, counts
from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.core.uids import UID_DTYPE, sort_uids
from benchmark.core.usage import Seconds, now, since
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.corpus_fit import fit_on_corpus
from benchmark.scoring.joined_scores import JoinedScores
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_parts import SCORING, add_filters, add_shards, read_part_info, write_part
from benchmark.scoring.score_table import PartSource, ScoreTable
from benchmark.scoring.shard_reader import PoolBatches, check_columns, shards_without_features
from benchmark.scoring.shard_work import ExtractShard, ScoreShard, run_on_shards
from benchmark.scoring.survivors import Survivors, save_survivors
from filters.base import Composite, Filter
from filters.composite import Cascade, OverPool
from filters.embeddings.corpus import CorpusFilter

log = logging.getLogger(__name__)
# Not lost: left out by a setting of the pool or by the filter, never downloaded, or there twice.
BY_DESIGN = {batch.NSFW, batch.DOWNLOAD_FAILED, batch.DUPLICATE_UID, batch.NO_SCORE, batch.NO_CLUSTER}
SHARDS = {batch.SHARD_CORRUPT, batch.SHARD_EMPTY}  # count shards, not pairs


def score_pool(pool: Pool, scorer: Filter, engine: Engine, survivors: Survivors | None = None) -> ScoreTable:
    """Score every sample of `pool`, or read the parts that an earlier run wrote (see `score_paths`).

    A filter whose scores depend on the corpus is fitted on the `survivors`, by default the whole pool, and scores
    them. Other scores are of the whole pool, and shared by all cascades. Raises `UserError` when the filter needs
    what the pool does not have, or reads what the pool hides.
    """
    check_columns(pool, scorer)
    if not scorer.corpus_dependent:
        survivors = None
    parts = score_paths(pool, scorer, survivors)
    missing = [shard for shard, path in parts.items() if not intact(path)]
    if not missing:
        name = scorer.display_name
        log.info("score: reusing the scores of %s on all %d shards of pool %s", name, len(parts), pool.name)
        reused = 1.0
    elif isinstance(scorer, Composite):
        reused = _score_composite(pool, scorer, engine, survivors, parts)
    else:
        of = f"{len(missing)} of {len(parts)} shards of pool {pool.name}"
        log.info("score: %s on %s", scorer.display_name, of)
        # Fitting is part of the cost of scores: its seconds are divided among all parts.
        fitting = fit_filter(pool, scorer, engine, survivors).times(1 / len(parts))
        to_score = {shard: parts[shard] for shard in missing}
        run_on_shards("score", ScoreShard(pool, scorer, to_score, fitting, survivors), engine)
        reused = 1 - len(missing) / len(parts)
    return replace(load_parts(parts.values()), reused=reused, pool=pool)


def fit_filter(pool: Pool, scorer: Filter, engine: Engine, survivors: Survivors | None = None) -> Seconds:
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
    scorer.fit(PoolBatches(pool, scorer, None if survivors is None else survivors.index()))
    return since(started)


def load_parts(paths: Iterable[Path]) -> ScoreTable:
    """Return the scores of some parts, which are read when they are asked for; a uid of several parts counts once."""
    paths = list(paths)
    infos = [read_part_info(path) for path in paths]
    source = PartSource(paths, infos)
    drops = sum((info.drops for info in infos), Counter[str]())
    if source.superfluous:
        drops[DUPLICATE_UID] += source.superfluous
    return ScoreTable(source, drops, add_shards(info.costs for info in infos))


def _score_composite(
    pool: Pool, scorer: Composite, engine: Engine, survivors: Survivors | None, parts: Mapping[Shard, Path]
) -> float:
    """Score with each of the composite's filters, write the parts; return the fraction of parts that were reused.

    In a cascade, a filter whose scores depend on the corpus is fitted on the pairs that the filters before it keep.
    """
    tables: list[ScoreTable] = []
    among = None if survivors is None else survivors.index()
    combining = Seconds()
    for name, part in scorer.filters.items():
        started, left = now(), survivors
        if tables and isinstance(scorer, Cascade) and part.corpus_dependent:
            left = _survivors(pool, scorer, JoinedScores([table.source for table in tables], among), name)
        combining += since(started)
        tables.append(score_pool(pool, part, engine, left))
    started = now()
    joined = JoinedScores([table.source for table in tables], among)
    combine = scorer.over(joined.scores()) if isinstance(scorer, OverPool) else scorer.combine
    # Drop counts and the filters' seconds belong to the whole pool, as the filters may read different shards: they
    # are in the first part, with the seconds of combining so far.
    drops = Counter[str]()
    for table in tables:
        drops |= table.drops  # the filters read the same pool: a sample that two of them drop counts once
    paths = {path.name: path for path in parts.values()}
    first = next(iter(paths))
    for file, uids, scores in joined.by_file(combine):
        costs = {SCORING: combining + since(started)}
        if file == first:
            costs = add_filters([*(table.costs for table in tables), costs])
        write_part(paths[file], uids, scores, drops if file == first else {}, costs)
        started, combining = now(), Seconds()
    return min(table.reused for table in tables)


def _survivors(pool: Pool, scorer: Cascade, joined: JoinedScores, name: str) -> Survivors:
    """Save the uids of the pairs that reach the filter with that name."""
    keep = scorer.survivors(joined.scores())
    kept, total = [np.empty(0, UID_DTYPE)], 0
    for block in joined.blocks():
        kept.append(block.uids[keep(block.columns, block.uids)])
        total += len(block.uids)
    uids = np.concatenate(kept)
    log.info("score: %s of %s pairs reach %s", f"{len(uids):,}", f"{total:,}", name)
    return save_survivors(pool, uids[sort_uids(uids)])


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
