"""The scores of several filters for all pairs of a pool, which need not fit into memory."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.uids import UidArray

Scores = npt.NDArray[np.float32 | np.float64]
Columns = Sequence[Scores]
Combine = Callable[[Columns, UidArray], Scores]
Keep = Callable[[Columns, UidArray], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class PoolScores:
    """The scores of several filters for a whole pool, a block at a time.

    Args:
        blocks: gives the blocks whenever it is called: each filter's scores of m pairs, (m,), and their uids, (m,).
        dtypes: the type of each filter's scores.
        folder: where temporary files are written.
    """

    blocks: Callable[[], Iterator[tuple[Columns, UidArray]]]
    dtypes: Sequence[np.dtype[Any]]
    folder: Path

    @classmethod
    def of(cls, scores: Columns, uids: UidArray) -> "PoolScores":
        """Return the scores of a pool that is in memory."""
        dtypes = [column.dtype for column in scores]
        return cls(lambda: iter([(scores, uids)]), dtypes, Path(tempfile.gettempdir()))

    def column(self, number: int, keep: Keep) -> Iterator[Scores]:
        """Yield one filter's scores of the pairs that are kept."""
        for scores, uids in self.blocks():
            yield scores[number][keep(scores, uids)]


def every_pair(scores: Columns, uids: UidArray) -> npt.NDArray[np.bool_]:
    """Return True for each of n pairs, shape (n,)."""
    return np.ones(len(uids), bool)
