"""Work that is done before `score_pool` begins: one part of the shards per machine, features of several filters."""

import logging
from collections import defaultdict
from collections.abc import Iterable

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.score_pool import check_columns
from benchmark.scoring.shard_part import ShardPart, record_parts
from benchmark.scoring.shard_reader import shards_without_features
from benchmark.scoring.shard_work import ExtractShard, ScoreShard, run_on_shards
from filters.base import Filter

log = logging.getLogger(__name__)


def score_part(pool: Pool, scorer: Filter, engine: Engine, part: ShardPart) -> None:
    """Score one part of the shards by the filter, or by the filters of a composite; `score_pool` does the rest.

    For a filter that is fitted on the whole pool, the features are extracted.

    Raises:
        UserError: if nothing can be done without the other shards, or the pool lacks what the filter needs.
    """
    leaves = scorer.leaves()
    apart = [leaf for leaf in leaves if leaf.features or not leaf.corpus_dependent]
    if not apart:
        raise UserError(
            f"task.shards={part}: {leaves[0].display_name} is fitted on the whole pool and extracts nothing that is"
            " worth sharing; run task=score without task.shards"
        )
    for leaf in apart:
        check_columns(pool, leaf)
        record_parts(pool, leaf, part.parts)
        shards, name = part.of(pool.shards(leaf.sources)), leaf.display_name
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


def extract_shared(pool: Pool, scorers: Iterable[Filter], engine: Engine) -> None:
    """Extract what several filters lack, if more than one of them needs features of images; else nothing.

    Each image is then read and decoded once for all features that read batches of the same size. The models of all
    these filters are in memory together.

    Raises:
        UserError: if a filter needs what the pool does not have, or reads what the pool hides.
    """
    not_scored = {leaf.key(): leaf for scorer in scorers for leaf in _not_scored(pool, scorer)}
    shards = {key: _shards_to_extract(pool, leaf) for key, leaf in not_scored.items()}
    readers = {key: leaf for key, leaf in not_scored.items() if shards[key] and _of_images(leaf)}
    if len(readers) > 1 and len(set().union(*map(_of_images, readers.values()))) > 1:
        wanted: dict[Shard, list[Filter]] = defaultdict(list)
        for key, leaf in readers.items():
            for shard in shards[key]:
                wanted[shard].append(leaf)
        names = ", ".join(leaf.display_name for leaf in readers.values())
        log.info("extract: images are read once for %s, on %d shards", names, len(wanted))
        run_on_shards("extract", ExtractShard(pool, wanted), engine)


def _not_scored(pool: Pool, scorer: Filter) -> list[Filter]:
    """Return the filters of a composite that have features, or the filter itself; none if all scores are there."""
    check_columns(pool, scorer)
    if all(intact(path) for path in score_paths(pool, scorer).values()):
        return []
    return [leaf for leaf in scorer.leaves() if leaf.features]


def _of_images(leaf: Filter) -> set[str]:
    """Return the keys of the features under `leaf` that read images."""
    return {key for key, of in leaf.all_features().items() if "image" in of.needs}


def _shards_to_extract(pool: Pool, leaf: Filter) -> list[Shard]:
    """Return the shards whose features `leaf` lacks and needs: all for a fit, else those without scores."""
    parts = score_paths(pool, leaf)
    needed = [shard for shard, path in parts.items() if leaf.corpus_dependent or not intact(path)]
    return shards_without_features(pool, leaf, needed)
