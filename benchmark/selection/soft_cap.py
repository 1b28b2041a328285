"""Draws with repetition, in which each draw of a pair lowers its score (``selector=soft_cap``)."""

import numpy as np
import numpy.typing as npt

from benchmark.core.ranges import NonNegativeFloat, PositiveInt, checked
from benchmark.core.ties import GOLDEN, hash_uids, mix
from benchmark.core.uids import UidArray
from benchmark.engine.base import Engine
from benchmark.pool.pool import Pool
from benchmark.scoring.score_table import ScoreTable
from benchmark.selection.selection import Rows, Selection, Selector, candidates
from filters.base import Scores

BATCHES = 1_280  # the authors': batches of 100,000 for 128M draws
_READY = 20  # batches that are drawn between two searches of the whole pool
_SAMPLE = 1 << 16


@checked
class SoftCap(Selector):
    """Soft Cap Sampling: k draws, the same in every epoch ("Filter Like You Test", arXiv 2503.08805, M-FLYT).

    Repeated until there are k draws: a batch of different pairs is drawn without replacement from softmax(scores),
    and the score of each drawn pair is lowered by `penalty`. This is the authors' published code, `soft_cap_sampling`
    in examples.ipynb of github.com/formll/FLYT at 50035b3d. The numbers of the paper's own section and equations
    could not be looked up; .15 is named by their model ``mflyt_medium_scs015``.

    Args:
        penalty: what each draw takes off the score of a pair.
        batch: pairs per batch; None for k / 1,280, as the authors have it.
    """

    repeats = True

    def __init__(self, penalty: NonNegativeFloat, batch: PositiveInt | None = None) -> None:
        self.penalty = penalty
        self.batch = batch

    def select(
        self, table: ScoreTable, k: int, epochs: int, seed: int, pool: Pool, engine: Engine
    ) -> Selection:
        """Draw k times from the pairs with a score; k may exceed their number."""
        rows, drops = candidates(table, min(k, 1))
        batch = self.batch or -(-k // BATCHES)
        draws = count_draws(table.scores[rows], table.uids[rows], k, batch, self.penalty, seed)
        return Selection.of_rows(table, [np.repeat(rows, draws)], len(rows), drops)


def count_draws(scores: Scores, uids: UidArray, k: int, batch: int, penalty: float, seed: int) -> Rows:
    """Return how often each of n pairs is drawn, (n,), k in all, by their scores, none of them NaN.

    Each pair waits for an exponential time with the rate exp(score): the first of all to end are a batch drawn
    without replacement from the softmax (the Gumbel-top-k trick; Efraimidis and Spirakis 2006). Drawn pairs wait anew
    from the end of their batch, with their lower score. The others wait on, as exponential times have no memory: the
    next batch is again drawn from the softmax. Times are of a hash of (seed, uid, number of earlier draws), so that
    few draws change if a pair is left out.
    """
    draws, hashes = np.zeros(len(scores), np.int32), hash_uids(uids, seed)

    def log_waits(rows: Rows) -> npt.NDArray[np.float64]:
        with np.errstate(over="ignore"):  # SplitMix64, a stream per pair
            words = mix(hashes[rows] + (draws[rows].astype(np.uint64) + np.uint64(1)) * GOLDEN)
        uniform = ((words >> np.uint64(11)) + 0.5) * 2.0**-53
        waits: npt.NDArray[np.float64] = np.log(-np.log(uniform)) - (scores[rows] - penalty * draws[rows])
        return waits

    ends = np.empty(len(scores))  # logarithms of the times at which the waits end
    for start in range(0, len(scores), 1 << 20):
        some = np.arange(start, min(start + (1 << 20), len(scores)))
        ends[some] = log_waits(some)
    ready = np.empty(0, np.int64)  # the rows whose waits end by a horizon
    while k > 0:
        size = min(batch, k, len(scores))
        if len(ready) < size:
            ready = _first(ends, _READY * size)
        first = ready[np.argpartition(ends[ready], size - 1)[:size]]
        now = ends[first].max()
        draws[first] += 1
        horizon = ends[ready].max()
        ends[first] = np.logaddexp(now, log_waits(first))
        ready = ready[ends[ready] <= horizon]
        k -= size
    return draws.astype(np.int64)


def _first(ends: npt.NDArray[np.float64], count: int) -> Rows:
    """Return the rows, ascending, of about `count` of the lowest numbers, and never fewer than a twentieth of it."""
    sample = ends[:: max(1, len(ends) // _SAMPLE)]
    place = len(sample) * count // len(ends)
    rows = np.flatnonzero(ends <= np.partition(sample, place)[place]) if place < len(sample) else ()
    return np.asarray(rows) if len(rows) * _READY >= count else np.arange(len(ends))
