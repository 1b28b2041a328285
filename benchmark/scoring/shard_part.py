"""One part of a pool's shards, for jobs that score a pool together on several machines with one cache."""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.core.cached_files import intact
from benchmark.core.errors import UserError
from benchmark.engine.base import Engine
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import score_paths
from benchmark.scoring.shard_reader import check_columns, shards_without_features
from benchmark.scoring.shard_work import ExtractShard, ScoreShard, run_on_shards
from filters.base import Filter

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ShardPart:
    """Every `parts`-th shard, from the `number`-th on; numbers start at 1."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> "ShardPart":
        """Return the part that ``3/8`` means; raise `UserError` for anything else."""
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        part = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= part.number <= part.parts:
            raise UserError(
                f"task.shards={text} must be a number and how many parts there are: 1/8, 2/8, up to 8/8"
            )
        return part

    def of(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return this part of the shards; all numbers together have each shard once."""
        return list(shards[self.number - 1 :: self.parts])

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"


def score_part(pool: Pool, scorer: Filter, engine: Engine, part: ShardPart) -> None:
    """Score one part of the shards by the filter, or by the filters of a composite; `score_pool` does the rest.

    For a filter that is fitted on the whole pool, the features are extracted. Raises `UserError` if nothing can be
    done without the other shards, or the pool lacks what the filter needs.
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
