"""Scores of a pool: one parquet part per shard, in a cache that all sizes and sweeps share."""

import hashlib
import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from benchmark.core.errors import UserError
from benchmark.core.paths import cache_dir
from benchmark.core.progress import progress
from benchmark.core.uids import UidArray, find_uids, first_of_each, sort_uids, unite_uids
from benchmark.engine.base import Engine, Work
from benchmark.pool.pool import Pool, Shard
from benchmark.scoring.score_parts import read_part
from benchmark.scoring.shard_reader import PoolBatches
from benchmark.scoring.shard_work import ExtractShard, ScoreShard
from filters.base import Composite, Filter

log = logging.getLogger(__name__)


@dataclass
class ScoreTable:
    """The scores of n samples, sorted by uid, each uid once.

    `drops` counts by reason what could not be scored. `own_seconds` is what scoring took when it was done, `features`
    what the features under it took, by their keys; `reused` is the share of parts that were already there.
    """

    uids: UidArray
    scores: npt.NDArray[np.float32]
    drops: Counter[str]
    own_seconds: float = 0.0
    features: dict[str, float] = field(default_factory=dict)
    reused: float = 0.0

    @property
    def seconds(self) -> float:
        """What these scores cost, as if no other filter had shared a feature; each feature counts once."""
        return self.own_seconds + sum(self.features.values())


def score_pool(pool: Pool, scorer: Filter, engine: Engine) -> ScoreTable:
    """Score every sample of `pool`, or read what an earlier run scored."""
    if isinstance(scorer, Composite):
        return _combine(scorer, [score_pool(pool, part, engine) for part in scorer.filters.values()])
    secret = sorted(scorer.sources & pool.hidden)
    if secret and not scorer.upper_bound:
        raise UserError(
            f"pool {pool.name} hides the column {secret[0]!r} from filters; only an upper bound reads it"
        )
    shards = pool.shards(scorer.sources)
    folder = cache_dir() / "scores" / pool.key / scorer.key()
    if scorer.corpus_dependent:
        folder /= _fingerprint(shards)
    parts = {shard.name: folder / f"{shard.name}-{shard.fingerprint}.parquet" for shard in shards}
    missing = [shard for shard in shards if not parts[shard.name].is_file()]
    name = type(scorer).__name__.lower()
    if missing:
        log.info("score: %s on %d of %d shards of pool %s", name, len(missing), len(shards), pool.name)
        # Fitting is part of what scores cost: each part that it was done for bears its share.
        share = fit_filter(pool, scorer, engine) / len(missing)
        _run("score", ScoreShard(pool, scorer, parts, share), engine, missing)
    else:
        log.info("score: reusing the scores of %s on all %d shards of pool %s", name, len(shards), pool.name)
    table = load_parts(parts.values())
    table.reused = 1 - len(missing) / len(shards)
    return table


def fit_filter(pool: Pool, scorer: Filter, engine: Engine) -> float:
    """Gather the corpus statistics that a filter wants, its features having been extracted first.

    Returns the seconds that it took, without those of the features.
    """
    if not scorer.corpus_dependent:
        return 0.0
    if scorer.features:
        _run("extract", ExtractShard(pool, scorer), engine, pool.shards(scorer.sources))
    started = time.monotonic()
    scorer.fit(PoolBatches(pool, scorer, torch.device("cpu")))
    return time.monotonic() - started


def _fingerprint(shards: Sequence[Shard]) -> str:
    """Return what identifies the whole pool: corpus statistics of a part of it are other statistics."""
    text = " ".join(f"{shard.name}-{shard.fingerprint}" for shard in shards)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _run(title: str, work: Work[Shard, int], engine: Engine, shards: Sequence[Shard]) -> None:
    started = time.monotonic()
    done = 0
    with progress(title, len(shards), "shards") as advance:
        for samples in engine.run(work, shards):
            done += samples
            advance(1, f"{done / (time.monotonic() - started):,.0f} pairs/s")


def load_parts(paths: Iterable[Path]) -> ScoreTable:
    """Read score parts into one table, sorted by uid, without duplicates."""
    parts = [read_part(path) for path in paths]
    drops = sum((part.drops for part in parts), Counter[str]())
    uids = np.concatenate([part.uids for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    features = sum((Counter(part.features) for part in parts), Counter[str]())
    return _deduplicate(ScoreTable(uids, scores, drops, sum(part.seconds for part in parts), dict(features)))


def _deduplicate(table: ScoreTable) -> ScoreTable:
    """Sort by uid; a uid that the pool holds twice counts once, with its best score."""
    order = sort_uids(table.uids)
    uids, scores = table.uids[order], table.scores[order]
    first = first_of_each(uids)
    if not first.all():
        starts = np.flatnonzero(first)
        scores = np.fmax.reduceat(scores, starts)
        table.drops["duplicate_uid"] += int(len(uids) - len(starts))
        uids = uids[starts]
    return replace(table, uids=uids, scores=scores)


def _combine(scorer: Composite, tables: Sequence[ScoreTable]) -> ScoreTable:
    """Join the parts' scores by uid; a sample that one of them lacks has NaN there."""
    uids = unite_uids([t.uids for t in tables])
    columns = np.full((len(tables), len(uids)), np.nan, np.float32)
    for row, table in enumerate(tables):
        columns[row, find_uids(uids, table.uids)] = table.scores
    drops = Counter[str]()
    for table in tables:
        drops |= table.drops  # the parts read the same pool: the same sample dropped twice counts once
    features = {key: seconds for table in tables for key, seconds in table.features.items()}
    own, reused = sum(t.own_seconds for t in tables), min(t.reused for t in tables)
    return ScoreTable(uids, scorer.combine(columns), drops, own, features, reused)
