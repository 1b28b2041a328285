"""Scoring one share of a pool's shards, which needs no lock and no word from those who score the others."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.seals import intact
from benchmark.core.usage import Seconds
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_pool import check_columns, run_on_shards
from benchmark.scoring.shard_reader import shards_without_features
from benchmark.scoring.shard_share import ShardShare, record_share
from benchmark.scoring.shard_work import ExtractShard, ScoreShard
from filters.base import Composite, Filter

log = logging.getLogger(__name__)


def score_share(pool: Pool, scorer: Filter, engine: Engine, share: ShardShare) -> None:
    """Do for one share of the shards what needs no other shard; `score_pool` does the rest.

    That is the scores of a filter, of a composite those of its parts. A filter that is fitted on the whole pool gets
    its features extracted.

    Raises:
        UserError: when nothing of the filter can be done without the other shards, or the pool lacks what it needs.
    """
    of_scorer = leaves(scorer)
    apart = [leaf for leaf in of_scorer if leaf.features or not leaf.corpus_dependent]
    if not apart:
        raise UserError(
            f"task.shards={share}: {_name(of_scorer[0])} is fitted on the whole pool and extracts nothing that is"
            " worth sharing; run task=score without task.shards"
        )
    for leaf in apart:
        check_columns(pool, leaf)
        record_share(pool, leaf, share)
        shards = share.of(pool.shards(leaf.sources))
        if leaf.corpus_dependent:
            log.info(
                "shards: %s is fitted on the whole pool; only its features are extracted here", _name(leaf)
            )
            missing = shards_without_features(pool, leaf, shards)
            _log_share("extract", leaf, share, missing, shards)
            run_on_shards("extract", ExtractShard(pool, dict.fromkeys(missing, (leaf,))), engine, missing)
        else:
            parts = score_paths(pool, leaf)
            missing = [shard for shard in shards if not intact(parts[shard])]
            _log_share("score", leaf, share, missing, shards)
            run_on_shards(
                "score", ScoreShard(pool, leaf, _of(parts, missing), Seconds(), None), engine, missing
            )


def _log_share(
    verb: str, leaf: Filter, share: ShardShare, missing: Sequence[Shard], shards: Sequence[Shard]
) -> None:
    log.info("%s: %s on %d of the %d shards of part %s", verb, _name(leaf), len(missing), len(shards), share)


def _of(parts: Mapping[Shard, Path], shards: Sequence[Shard]) -> dict[Shard, Path]:
    return {shard: parts[shard] for shard in shards}


def leaves(scorer: Filter) -> list[Filter]:
    """Return the filters of a composite, or the filter itself."""
    if not isinstance(scorer, Composite):
        return [scorer]
    return [leaf for part in scorer.filters.values() for leaf in leaves(part)]


def _name(scorer: Filter) -> str:
    return type(scorer).__name__.lower()
