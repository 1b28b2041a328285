"""One share of a pool's shards, for jobs that score a pool together on several machines with one cache."""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_text
from benchmark.core.paths import cache_folder, write_text
from benchmark.core.seals import intact, remove_sealed
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from filters.base import Filter

LISTED = 5  # shares that an error names


@dataclass(frozen=True)
class ShardShare:
    """Every `parts`-th shard, from the `number`-th on; numbers start at 1, like those of most array jobs."""

    number: int
    parts: int

    @classmethod
    def parse(cls, text: str) -> "ShardShare":
        """Return the share that ``3/8`` means; raise `UserError` for anything else."""
        match = re.fullmatch(r"(\d+)/(\d+)", text)
        share = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= share.number <= share.parts:
            raise UserError(
                f"task.shards={text} must be a number and how many parts there are: 1/8, 2/8, up to 8/8"
            )
        return share

    @classmethod
    def of_slurm_array(cls) -> "ShardShare | None":
        """Return the share of this task of Slurm's job array; None outside an array, and in one of a single task.

        Raises:
            UserError: when the numbers of the array's tasks do not follow one another.
        """
        names = [f"SLURM_ARRAY_TASK_{name}" for name in ("ID", "MIN", "MAX", "COUNT")]
        if any(name not in os.environ for name in names):
            return None
        number, first, last, count = (int(os.environ[name]) for name in names)
        if last - first + 1 != count:
            raise UserError(
                "the numbers of this Slurm array do not follow one another, as those of sbatch --array=1-8 do; give"
                " the share itself, such as task.shards=3/8, or task.shards=1/1 for all shards"
            )
        return cls(number - first + 1, count) if count > 1 else None

    def of(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return this share of the shards; those of all numbers are each shard once."""
        return list(shards[self.number - 1 :: self.parts])

    def __str__(self) -> str:
        return f"{self.number}/{self.parts}"


def record_share(pool: Pool, scorer: Filter, share: ShardShare) -> None:
    """Note in the cache into how many parts the shards of the filter are shared out, for `require_all_shares`."""
    path = _record(pool, scorer)
    if share.parts == 1:
        remove_sealed(path)
    else:
        write_text(path, str(share.parts))


def require_all_shares(pool: Pool, scorer: Filter, missing: Iterable[Shard]) -> None:
    """Raise `UserError` if the shards are shared out and some are missing: this process would score them alone."""
    path = _record(pool, scorer)
    if not intact(path):
        return
    parts, lacking = int(path.read_text()), set(missing)
    shards = pool.shards(scorer.sources)
    shares = [ShardShare(number, parts) for number in range(1, parts + 1)]
    unfinished = [str(share) for share in shares if lacking & set(share.of(shards))]
    if unfinished:
        more = f" and {len(unfinished) - LISTED} others" if len(unfinished) > LISTED else ""
        raise UserError(
            f"{type(scorer).__name__.lower()}: {len(lacking):,} of {len(shards):,} shards are missing, those of"
            f" task.shards={', '.join(unfinished[:LISTED])}{more}; run task=score with each of these, or with"
            " task.shards=1/1 to score what is missing here"
        )


def _record(pool: Pool, scorer: Filter) -> Path:
    """Return the file with the number of parts; a pool that grew has another one, for its other shards."""
    text = " ".join(f"{shard.name}-{shard.fingerprint}" for shard in pool.shards(scorer.sources))
    name = hash_text(text, 12)
    return cache_folder("parts", pool.key, scorer.key()) / name
