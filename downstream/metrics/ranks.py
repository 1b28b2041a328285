"""Ranks of queries among items by similarity, in bounded memory.

The rank of a query is that of its best match: 1 + the number of wrong items at least as similar. Ties thus count
against the model, in any order of the items: features that have collapsed to one point get the worst rank, not the
first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

CHUNK_BYTES = 1 << 26
# Similarities closer than this are ties: float64 sums in another order differ by 1e-15, and ranks must not depend on
# chunks, threads or the BLAS.
TIE = 1e-9

Array = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.integer[Any]]
Bools = npt.NDArray[np.bool_]
Rows = Callable[[slice], Array]
Ties = Literal["against", "topk"]


@dataclass(frozen=True)
class Ranks:
    """Where each query finds its best match.

    Args:
        ranks: 1 + the number of wrong items at least as similar as the best match, (n,).
        tied: whether a wrong item is exactly as similar, (n,); only there can another rule for ties improve a rank.
        topk: answers of `topk_hits` by k, each (n,); None counts ties against the model.
    """

    ranks: npt.NDArray[np.int64]
    tied: Bools
    topk: Mapping[int, Bools] | None = None

    def __len__(self) -> int:
        return len(self.ranks)

    def within(self, k: int) -> Bools:
        """Return whether each query has a match among its `k` most similar items, (n,)."""
        return self.ranks <= k if self.topk is None else self.topk[k]


def ranks(rows: Rows, query_group: Indices, item_group: Indices) -> Ranks:
    """Return the rank of each query's best match among all items.

    Args:
        rows: function from a slice of c queries to their similarities with all items, (c, items).
        query_group: group of each query, (queries,).
        item_group: group of each item, (items,); items of the query's group match.

    Raises:
        ValueError: a query without a match, or a similarity that is not finite.
    """
    unmatched = np.setdiff1d(query_group, item_group)
    if unmatched.size:
        raise ValueError(f"{unmatched.size} groups of queries have no item, e.g. {unmatched[0]}")
    result, tied = np.empty(len(query_group), np.int64), np.empty(len(query_group), np.bool_)
    for part in _chunks(len(query_group), len(item_group)):
        similarity = rows(part).astype(np.float64, copy=False)
        if not np.isfinite(similarity).all():
            raise ValueError("similarities must be finite")
        right = query_group[part, None] == item_group
        best = np.where(right, similarity, -np.inf).max(axis=1, keepdims=True)
        wrong_above = np.count_nonzero((similarity > best + TIE) & ~right, axis=1)
        result[part] = 1 + np.count_nonzero((similarity >= best - TIE) & ~right, axis=1)
        tied[part] = result[part] > 1 + wrong_above
    return Ranks(result, tied)


def topk_hits(
    rows: Rows, query_group: Indices, item_group: Indices, cutoffs: Sequence[int]
) -> dict[int, Bools]:
    """Return by k whether a match of each query is among the k items that ``torch.topk`` returns, (queries,).

    The rule of CLIP_benchmark: similarities in float32, and the order of equal items is torch's, which is arbitrary
    and differs between values of k. Arguments as in `ranks`.
    """
    import torch

    hits = {k: np.empty(len(query_group), np.bool_) for k in cutoffs}
    for part in _chunks(len(query_group), len(item_group)):
        similarity = torch.from_numpy(rows(part).astype(np.float32, copy=False))
        right = torch.from_numpy(query_group[part, None] == item_group)
        for k, hit in hits.items():
            most_similar = torch.topk(similarity, min(k, len(item_group)), dim=1).indices
            hit[part] = right.gather(1, most_similar).any(dim=1).numpy()
    return hits


def _chunks(queries: int, items: int) -> Iterator[slice]:
    size = max(1, CHUNK_BYTES // (8 * items))
    yield from (slice(start, min(start + size, queries)) for start in range(0, queries, size))
