"""One part of a pool's shards, for jobs that score a pool together on several machines with one cache."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from benchmark.core.seals import intact, remove_sealed
from benchmark.pool.layout import Shard
from benchmark.pool.pool import Pool
from benchmark.scoring.score_folder import parts_record
from filters.base import Filter

LISTED = 5  # parts that an error names


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


def record_parts(pool: Pool, scorer: Filter, parts: int) -> None:
    """Note in the cache into how many parts the shards of the filter are divided, for `require_all_parts`."""
    if parts == 1:
        remove_sealed(parts_record(pool, scorer))
    else:
        write_text(parts_record(pool, scorer), str(parts))


def require_all_parts(pool: Pool, scorer: Filter, missing: Iterable[Shard]) -> None:
    """Raise `UserError` if the shards are divided and some are missing: other jobs may be scoring them."""
    if not intact(record := parts_record(pool, scorer)):
        return
    parts, lacking, shards = int(record.read_text()), set(missing), pool.shards(scorer.sources)
    each = [ShardPart(number, parts) for number in range(1, parts + 1)]
    unfinished = [str(part) for part in each if lacking & set(part.of(shards))]
    if unfinished:
        more = f" and {len(unfinished) - LISTED} others" if len(unfinished) > LISTED else ""
        raise UserError(
            f"{scorer.display_name}: {len(lacking):,} of {len(shards):,} shards are missing, those of"
            f" task.shards={', '.join(unfinished[:LISTED])}{more}; run task=score with each of these, or with"
            " task.shards=1/1 to score what is missing here"
        )
