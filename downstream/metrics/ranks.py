"""Ranks of queries among items by similarity, in bounded memory.

The rank of a query is that of its best match: 1 + the number of wrong items at least as similar. Ties thus count
against the model, in any order of the items: features that have collapsed to one point get the worst rank, not the
first.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

CHUNK_BYTES = 1 << 26
# Similarities closer than this are ties: float64 sums in another order differ by 1e-15, and ranks must not depend on
# chunks, threads or the BLAS.
TIE = 1e-9
PAIRS_AT_ONCE = 1 << 14
# A single pair takes so many times as long as a pair of a whole matrix.
SINGLE_PAIR_COST = 32

Array = npt.NDArray[np.floating[Any]]
Doubles = npt.NDArray[np.float64]
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

    def by_topk(self, hits: Mapping[int, Bools]) -> "Ranks":
        """Return these ranks with the answers of `topk_hits` for `within`."""
        return replace(self, topk=hits)

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
    _require_matches(query_group, item_group)
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


def pair_ranks(texts: Doubles, images: Doubles, image_of_text: Indices) -> tuple[Ranks, Ranks]:
    """Return the ranks of texts among images, and of images among texts, from one pass over their similarities.

    Similarities are computed in float32; the few that are so close to a query's best match that rounding could decide
    are computed again in float64.

    Args:
        texts: unit vectors (m, d).
        images: unit vectors (n, d).
        image_of_text: index of each text's image, (m,); every image must have a text.

    Raises:
        ValueError: indices that do not fit.
    """
    everyone = np.arange(len(images))
    _require_matches(image_of_text, everyone)
    _require_matches(everyone, image_of_text)
    own = np.concatenate([_dots(texts, images, part, image_of_text[part]) for part in _pieces(len(texts))])
    best = np.full(len(images), -np.inf)
    np.maximum.at(best, image_of_text, own)
    to_images, to_texts = _Counts.above(own), _Counts.above(best)
    narrow_texts, narrow_images = texts.astype(np.float32), images.astype(np.float32)
    # A float32 sum of d products of unit vectors is off by at most d roundings; and inputs and bounds are rounded.
    error = (texts.shape[1] + 8) * 2.0**-24
    for part in _chunks(len(texts), len(images)):
        similarity = narrow_texts[part] @ narrow_images.T
        similarity[
            np.arange(len(similarity)), image_of_text[part]
        ] = -np.inf  # a match counts in neither direction

        def exact(rows: Indices, columns: Indices, part: slice = part) -> Doubles:
            if len(rows) * SINGLE_PAIR_COST > (part.stop - part.start) * len(images):
                dense: Doubles = (texts[part] @ images.T)[rows, columns]
                return dense
            pieces = _pieces(len(rows))
            return np.concatenate([_dots(texts[part], images, rows[p], columns[p]) for p in pieces])

        to_images.add(similarity, 0, part, error, exact)
        to_texts.add(similarity, 1, slice(0, len(images)), error, exact)
    return to_images.ranks(), to_texts.ranks()


@dataclass(frozen=True)
class _Counts:
    """Per query, counts of wrong items at least as similar as its best match, and exactly as similar."""

    best: Doubles
    at_least: npt.NDArray[np.int64]
    equal: npt.NDArray[np.int64]

    @staticmethod
    def above(best: Doubles) -> "_Counts":
        return _Counts(best, np.zeros(len(best), np.int64), np.zeros(len(best), np.int64))

    def add(
        self,
        similarity: npt.NDArray[np.float32],
        axis: int,
        part: slice,
        error: float,
        exact: Callable[[Indices, Indices], Doubles],
    ) -> None:
        """Count among similarities (rows, columns), -inf for a match; the queries of `part` are along `axis`.

        Similarities may be off by `error`; `exact` returns them in float64, given the rows and columns of some.
        """
        best = self.best[part]
        low, high = (np.expand_dims((best + e).astype(np.float32), 1 - axis) for e in (-error, error))
        surely = similarity >= high
        self.at_least[part] += np.count_nonzero(surely, axis=1 - axis)
        perhaps = np.divmod(np.flatnonzero((similarity >= low) ^ surely), similarity.shape[1])
        above = exact(*perhaps) - best[perhaps[axis]]
        for counts, counted in ((self.at_least, above >= -TIE), (self.equal, np.abs(above) <= TIE)):
            counts[part] += np.bincount(perhaps[axis][counted], minlength=len(best))

    def ranks(self) -> Ranks:
        return Ranks(1 + self.at_least, self.equal > 0)


def _dots(left: Doubles, right: Doubles, left_rows: Indices | slice, right_rows: Indices) -> Doubles:
    dots: Doubles = np.einsum("nd,nd->n", left[left_rows], right[right_rows])
    return dots


def _pieces(count: int) -> Iterator[slice]:
    yield from (slice(start, start + PAIRS_AT_ONCE) for start in range(0, max(count, 1), PAIRS_AT_ONCE))


def _chunks(queries: int, items: int) -> Iterator[slice]:
    size = max(1, CHUNK_BYTES // (8 * items))
    yield from (slice(start, min(start + size, queries)) for start in range(0, queries, size))


def _require_matches(query_group: Indices, item_group: Indices) -> None:
    unmatched = np.setdiff1d(query_group, item_group)
    if unmatched.size:
        raise ValueError(f"{unmatched.size} groups of queries have no item, e.g. {unmatched[0]}")
