"""One part of a pool's shards, for jobs that score a pool together on several machines with one cache."""

import logging
import re

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.shard_reader import check_columns, shards_without_features
from benchmark.scoring.shard_work import ExtractShard, ScoreShard, run_on_shards
from filters.base import Filter

log = logging.getLogger(__name__)


def score_part(pool: Pool, scorer: Filter, engine: Engine, part: str) -> None:
    """Score one part, such as ``3/8``, of the shards by the filter or the filters of a composite.

    That is every eighth shard from the third on; `score_pool` does the rest.

    For a filter that is fitted on the whole pool, the features are extracted. Raises `UserError` if nothing can be
    done without the other shards, or the pool lacks what the filter needs.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", part)
    number, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= parts:
        raise UserError(
            f"task.shards={part} must be a number and how many parts there are: 1/8, 2/8, up to 8/8"
        )
    leaves = scorer.leaves()
    apart = [leaf for leaf in leaves if leaf.features or not leaf.corpus_dependent]
    if not apart:
        raise UserError(
            f"task.shards={part}: {leaves[0].display_name} is fitted on the whole pool and extracts nothing that is"
            " worth sharing; run task=score without task.shards"
        )
    for leaf in apart:
        check_columns(pool, leaf)
        shards, name = pool.shards(leaf.sources)[number - 1 :: parts], leaf.display_name
        if leaf.corpus_dependent:
            log.info("shards: %s is fitted on the whole pool; only its features are extracted here", name)
            missing = shards_without_features(pool, leaf, shards)
            verb: str = "extract"
            work: ExtractShard | ScoreShard = ExtractShard(pool, dict.fromkeys(missing, (leaf,)))
        else:
            paths = score_paths(pool, leaf)
            missing = [shard for shard in shards if not intact(paths[shard])]
            verb, work = "score", ScoreShard(pool, leaf, {shard: paths[shard] for shard in missing})
        log.info("%s: %s on %d of the %d shards of part %s", verb, name, len(missing), len(shards), part)
        run_on_shards(verb, work, engine)
