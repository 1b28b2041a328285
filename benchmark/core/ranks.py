"""Ranks among any number of scores, which are sorted in a mapped file."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.counting import ScoreArrays, ScoreCounts, high_digits
from benchmark.core.disk_buckets import DiskBuckets

Scores = npt.NDArray[np.float32 | np.float64]


def sort_scores(arrays: ScoreArrays, dtype: npt.DTypeLike, folder: Path) -> Scores:
    """Return n scores in ascending order, NaN left out, as a mapped array of shape (n,) on the disk of `folder`.

    Scores that share their highest 16 bits are sorted at a time.
    """
    buckets = DiskBuckets(ScoreCounts(arrays, dtype).by_high_digit, dtype, folder)
    for scores in arrays():
        scores = scores[~np.isnan(scores)]
        buckets.add(high_digits(scores), scores)
    for bucket in buckets:
        bucket.sort()
    return buckets.values


def rank_share(scores: Scores, ordered: Scores) -> npt.NDArray[np.float64]:
    """Return each of n scores' rank among `ordered` by the number of these, in (0, 1], shape (n,).

    Ties share their mean rank, NaN stays.

    Args:
        scores: n of the ranked scores, or NaN.
        ordered: all ranked scores in ascending order, of the same type, none of them NaN.
    """
    ranks = np.full(scores.shape, np.nan)
    valid = np.flatnonzero(~np.isnan(scores))
    rows = valid[np.argsort(scores[valid])]  # in order, they are found in a large array several times faster
    starts = np.searchsorted(ordered, scores[rows])
    ends = np.searchsorted(ordered, scores[rows], side="right")
    ranks[rows] = (starts + ends + 1) / 2 / len(ordered)
    return ranks
