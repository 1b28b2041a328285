"""Features of several filters, extracted in one walk over the pool before any of them scores."""

import logging
from collections import defaultdict
from collections.abc import Iterable

from benchmark.core.cached_files import intact
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.shard_reader import check_columns, shards_without_features
from benchmark.scoring.shard_work import ExtractShard, run_on_shards
from filters.base import Filter

log = logging.getLogger(__name__)


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
