"""The scores of a pool: of parts on disk, read block by block, or of arrays in memory."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmark.core.arrow import to_numpy
from benchmark.core.batch import counts
from benchmark.core.bounds import NO_BOUNDS, Bounds
from benchmark.core.errors import UserError
from benchmark.core.prefetch import prefetch_map
from benchmark.core.uids import (
    UID_COLUMNS,
    UID_DTYPE,
    UidArray,
    UidIndex,
    first_of_each,
    read_uid_columns,
    sort_uids,
    unite_uids,
)
from benchmark.core.usage import Seconds
from benchmark.pool.pairs import SCHEMA, pair_tables
from benchmark.pool.pool import Pool
from benchmark.scoring.score_parts import (
    SCORE,
    Costs,
    PartInfo,
    read_columns,
    read_part,
    scores_of,
    total_cost,
)
from filters.base import Scores

_MIX_HIGH = np.uint64(0xBF58476D1CE4E5B9)
_MIX_LOW = np.uint64(0x9E3779B97F4A7C15)
_Hashes = npt.NDArray[np.uint64]
Block = tuple[UidArray, Scores]
Keep = Callable[[Scores], npt.NDArray[np.bool_]]


def every(scores: Scores) -> npt.NDArray[np.bool_]:
    """Return True for each of n scores, shape (n,)."""
    return np.ones(len(scores), bool)


class ScoreSource(ABC):
    """n uids, each once, and their float32 or float64 scores; `files` are the names of the files that hold them."""

    dtype: np.dtype[Any]
    files: Collection[str]

    @abstractmethod
    def __len__(self) -> int:
        """Return n."""

    @abstractmethod
    def blocks(self, keep: Keep = every) -> Iterator[Block]:
        """Yield the uids (m,) and scores (m,) of the samples whose scores `keep` accepts, a block at a time."""

    @abstractmethod
    def scores(self) -> Iterator[Scores]:
        """Yield all scores, a block at a time."""

    @abstractmethod
    def read(self, file: str) -> Block:
        """Return the uids (m,) and scores (m,) of one of the `files`; a uid may be in several, or twice in one."""

    def arrays(self) -> Block:
        """Return all uids (n,), sorted, and their scores (n,)."""
        uids, scores, end = np.empty(len(self), UID_DTYPE), np.empty(len(self), self.dtype), 0
        for some_uids, some_scores in self.blocks():
            start, end = end, end + len(some_uids)
            uids[start:end], scores[start:end] = some_uids, some_scores
        order = sort_uids(uids)
        return uids[order], scores[order]

    def of_uids(self, uids: UidArray, lowest: float) -> "ArraySource":
        """Return the scores of k of the samples, (k,) sorted, none of which has a lower score than `lowest`."""
        index, found = UidIndex(uids), np.empty(len(uids), self.dtype)
        for some, scores in self.blocks(lambda scores: scores >= lowest):
            rows = index.find(some)
            found[rows[rows >= 0]] = scores[rows >= 0]
        return ArraySource(uids, found)


class ArraySource(ScoreSource):
    """Scores in memory, of one file without a name: `uids` (n,), sorted, each once, and `scores` (n,)."""

    files = ("",)

    def __init__(self, uids: UidArray, scores: Scores) -> None:
        self._arrays = (uids, scores)
        self.dtype = scores.dtype

    def __len__(self) -> int:
        return len(self._arrays[0])

    def blocks(self, keep: Keep = every) -> Iterator[Block]:
        """Yield one block: everything is in memory anyway."""
        uids, scores = self._arrays
        rows = np.flatnonzero(keep(scores))
        yield uids[rows], scores[rows]

    def scores(self) -> Iterator[Scores]:
        """Yield one block."""
        yield self._arrays[1]

    def arrays(self) -> Block:
        """Return the arrays."""
        return self._arrays

    def read(self, file: str) -> Block:
        """Return the arrays."""
        return self._arrays


class PartSource(ScoreSource):
    """Scores of parts in one folder; a uid that occurs more than once in them counts once, with its best score.

    `superfluous` is how many rows that leaves out. Two parts at a time are in memory, and the repeated uids.
    """

    def __init__(self, paths: Sequence[Path], infos: Sequence[PartInfo]) -> None:
        self._paths = {path.name: path for path in paths}
        self.files = self._paths.keys()
        rows = sum(info.rows for info in infos)
        self.dtype = np.result_type(*(info.dtype for info in infos))
        self._repeated = self._find_repeated(self._repeated_hashes(rows))
        self.superfluous = sum(map(len, self._repeated.rows.values())) - len(self._repeated.uids)
        self._count = rows - self.superfluous

    def __len__(self) -> int:
        return self._count

    def blocks(self, keep: Keep = every) -> Iterator[Block]:
        """Yield the rows of the parts; repeated uids come last, each once."""
        for number, table in enumerate(self._tables(*UID_COLUMNS, SCORE)):
            scores = self._scores_of(table)
            kept = keep(scores)
            kept[self._repeated.rows.get(number, [])] = False
            rows = np.flatnonzero(kept)
            yield read_uid_columns(table, rows), scores[rows]
        if len(self._repeated.uids):
            yield from ArraySource(self._repeated.uids, self._repeated.scores).blocks(keep)

    def scores(self) -> Iterator[Scores]:
        """Yield the scores of the `blocks`; uids are not read."""
        for number, table in enumerate(self._tables(SCORE)):
            scores = self._scores_of(table)
            repeated = self._repeated.rows.get(number)
            yield scores if repeated is None else np.delete(scores, repeated)
        if len(self._repeated.uids):
            yield self._repeated.scores

    def read(self, file: str) -> Block:
        """Read one part."""
        uids, scores = read_part(self._paths[file])
        return uids, np.asarray(scores, self.dtype)

    def _repeated_hashes(self, count: int) -> _Hashes:
        """Return the hashes that occur more than once, sorted: of equal uids, and hardly ever of others."""
        hashes, end = np.empty(count, np.uint64), 0
        for table in self._tables(*UID_COLUMNS):
            start, end = end, end + len(table)
            hashes[start:end] = hash_words(*(to_numpy(table[name]) for name in UID_COLUMNS))
        hashes.sort()
        return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])

    def _find_repeated(self, suspects: _Hashes) -> "Repeated":
        """Find the uids that occur more than once among those with one of the hashes."""
        rows, uids = list[npt.NDArray[np.int64]](), [np.empty(0, UID_DTYPE)]
        scores: list[Scores] = [np.empty(0, np.float32)]
        for ids, values in map(self.read, self.files) if len(suspects) else ():
            hashes = hash_words(ids["f0"], ids["f1"])
            positions = np.minimum(np.searchsorted(suspects, hashes), len(suspects) - 1)
            rows.append(np.flatnonzero(suspects[positions] == hashes))
            uids.append(ids[rows[-1]])
            scores.append(values[rows[-1]])
        return _group(rows, np.concatenate(uids), np.concatenate(scores))

    def _tables(self, *columns: str) -> Iterator[pa.Table]:
        return prefetch_map(lambda path: read_columns(path, *columns), self._paths.values(), 1)

    def _scores_of(self, table: pa.Table) -> Scores:
        return np.asarray(scores_of(table), self.dtype)


@dataclass
class ScoreTable:
    """The scores of n samples, each uid once."""

    source: ScoreSource
    drops: Counter[str]  # samples without a score, by reason
    costs: Costs = field(default_factory=dict)  # of scoring when it was done, and of the features
    reused: float = 0.0  # fraction of parts that an earlier run had scored
    pool: Pool | None = None  # None for joined scores
    # Pairs that a selection passes over, as their images cannot be read; the source that it reads lacks them.
    unreadable: UidArray = field(default_factory=lambda: np.empty(0, UID_DTYPE), compare=False)
    bounds: Bounds = NO_BOUNDS  # the filter's bounds, for a selection from Python

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        return f"ScoreTable({len(self):,} pairs, dropped: {counts(self.drops) or 'none'})"

    def to_arrow(self, uids: UidArray | None = None) -> pa.Table:
        """Return ``uid, url, caption, score`` of these uids (k,), by default of all pairs, in the pool's order.

        The url is null if the pool has no urls. Raises `UserError` for joined scores, which have no pool.
        """
        if self.pool is None:
            raise UserError(
                "these scores are not of one pool; only those that score(...) returns have captions"
            )
        chosen = slice(None) if uids is None else UidIndex(unite_uids([uids])).find(self.uids) >= 0
        pairs = pair_tables(self.pool, self.uids[chosen], self.scores[chosen])
        return pa.concat_tables([SCHEMA.empty_table(), *pairs])

    @cached_property
    def _arrays(self) -> Block:
        return self.source.arrays()

    @property
    def uids(self) -> UidArray:
        """All uids (n,), sorted: read into memory when they, or all scores, are first asked for."""
        return self._arrays[0]

    @property
    def scores(self) -> Scores:
        """The scores (n,) of `uids`."""
        return self._arrays[1]

    @property
    def cost(self) -> Seconds:
        """The cost of these scores as if no other filter had shared a feature; each feature counts once."""
        return total_cost(self.costs)


@dataclass(frozen=True)
class Repeated:
    """The m uids that occur more than once, sorted; `scores` (m,), the best of each; `rows` with them, by block."""

    uids: UidArray
    scores: Scores
    rows: dict[int, npt.NDArray[np.int64]]


def _group(rows: list[npt.NDArray[np.int64]], uids: UidArray, scores: Scores) -> Repeated:
    """Keep the found rows whose whole uids are equal, not only their hashes."""
    order = sort_uids(uids)
    uids, scores = uids[order], scores[order]
    starts = np.flatnonzero(first_of_each(uids))
    sizes = np.diff(starts, append=len(uids))
    repeated = np.zeros(len(uids), bool)
    repeated[order] = np.repeat(sizes > 1, sizes)
    if not repeated.any():
        return Repeated(uids[:0], scores[:0], {})
    best = np.fmax.reduceat(scores, starts)  # NaN if all are
    masks = np.split(repeated, np.cumsum(list(map(len, rows)))[:-1])
    of_blocks = {n: of[mask] for n, (of, mask) in enumerate(zip(rows, masks, strict=True)) if mask.any()}
    return Repeated(uids[starts][sizes > 1], best[sizes > 1], of_blocks)


def hash_words(high: _Hashes, low: _Hashes) -> _Hashes:
    """Return a cheap hash of each uid, spread over all 64 bits even if uids are consecutive numbers."""
    return np.asarray((high * _MIX_HIGH) ^ (low * _MIX_LOW))
