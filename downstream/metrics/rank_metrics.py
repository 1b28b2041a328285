"""Metrics of ranks: retrieval (R@1, R@5, R@10, median rank) and classification (accuracy at 1 and 5, mean per class).

As in Karpathy's splits, a text matches one image, and an image matches all its texts. The rank of a query is that of
its best match, for a labelled image of its class: 1 + the number of wrong items at least as similar. Ties thus count
against the model, in any order of the items: features that have collapsed to one point get the worst rank, not the
first. ``text_to_image_tied``, ``image_to_text_tied`` and ``zero_shot_tied`` are the fractions of queries with a tie:
the most that CLIP_benchmark's rule for ties could add to the other metrics. Classes of one name always tie: among
open_clip's names of ImageNet's 1,000 classes, "missile" and "sunglasses" are there twice, 0.4% of the images. Memory
is bounded.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from downstream.metrics.metric import Metric, library

CUTOFFS = (1, 5, 10)
TOP_CLASSES = 5
LOWER: dict[str, Any] = {"higher_is_better": False, "detail": True}
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
    """Where each query finds its best match."""

    ranks: npt.NDArray[np.int64]  # 1 + the number of wrong items at least as similar as the best match, (n,)
    # Whether a wrong item is exactly as similar, (n,); only there can another rule for ties improve a rank.
    tied: Bools
    # Answers of `topk_hits` by k, each (n,); None counts ties against the model.
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

    Raises `ValueError` for a query without a match, or a similarity that is not finite.
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


def retrieval_metrics(to_images: Ranks, to_texts: Ranks) -> list[Metric]:
    """Return the retrieval metrics of the ranks of texts among images, and of images among texts."""
    return _metrics("text_to_image", to_images, 10) + _metrics("image_to_text", to_texts, 1)


def retrieval_ranks(
    images: Array, texts: Array, image_of_text: Indices, ties: Ties = "against"
) -> tuple[Ranks, Ranks]:
    """Return the ranks of m texts among n images, and of the images among the texts, by cosine similarity.

    Args:
        images: features (n, d).
        texts: features (m, d).
        image_of_text: index of each text's image, (m,); every image must have a text.
        ties: "against" the model, or by "topk", CLIP_benchmark's rule for R@k: of equal items those count that
            ``torch.topk`` happens to return.

    Raises `ValueError` for features that are zero or not finite, indices that do not fit.
    """
    images, texts = _normalised(images), _normalised(texts)
    everyone = np.arange(len(images))
    to_images = ranks(lambda part: texts[part] @ images.T, image_of_text, everyone)
    to_texts = ranks(lambda part: images[part] @ texts.T, everyone, image_of_text)
    if ties == "topk":
        narrow_images, narrow_texts = images.astype(np.float32), texts.astype(np.float32)
        hits = topk_hits(lambda part: narrow_texts[part] @ narrow_images.T, image_of_text, everyone, CUTOFFS)
        back = topk_hits(lambda part: narrow_images[part] @ narrow_texts.T, everyone, image_of_text, CUTOFFS)
        return replace(to_images, topk=hits), replace(to_texts, topk=back)
    return to_images, to_texts


def _normalised(features: Array) -> npt.NDArray[np.float64]:
    exact: npt.NDArray[np.float64] = features.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError("features must be finite and not zero")
    exact /= lengths
    return exact


def _metrics(direction: str, found: Ranks, shown: int) -> list[Metric]:
    """Return the metrics of one direction; R@k above k = `shown` are details, which are not in papers' tables."""
    recalls = [
        rank_metric(f"{direction}_R@{k}", np.mean(found.within(k)), found, detail=k > shown) for k in CUTOFFS
    ]
    median = rank_metric(f"{direction}_median_rank", np.median(found.ranks), found, unit="rank", **LOWER)
    return [*recalls, median, rank_metric(f"{direction}_tied", np.mean(found.tied), found, **LOWER)]


def rank_metric(name: str, value: float | np.floating[Any], found: Ranks, **more: Any) -> Metric:
    """Return a metric of these ranks, a fraction by default; `more` are other arguments of `Metric`."""
    return Metric(name, float(value), None, len(found), library("pairsift"), **{"unit": "fraction", **more})


def class_ranks(rows: Rows, labels: Indices, classes: int, ties: Ties = "against") -> Ranks:
    """Return the rank (from 1) of each image's own class.

    Args:
        rows: function from a slice of c images to their similarities with all classes, (c, classes).
        ties: "against" the model, or by "topk", CLIP_benchmark's rule: of equal classes those count that
            ``torch.topk`` happens to return.
    """
    found = ranks(rows, labels, np.arange(classes))
    if ties == "topk":
        return replace(found, topk=topk_hits(rows, labels, np.arange(classes), (1, TOP_CLASSES)))
    return found


def accuracy_at(found: Ranks, k: int) -> float:
    """Return the fraction of images whose class is among the `k` most similar."""
    return float(np.mean(found.within(k)))


def mean_per_class(found: Ranks, labels: Indices) -> float:
    """Return the mean accuracy (recall) over classes; classes without images are left out."""
    sizes = np.bincount(labels)
    right = np.bincount(labels, weights=found.within(1))
    return float(np.mean(right[sizes > 0] / sizes[sizes > 0]))


def classification_metrics(name: str, found: Ranks, labels: Indices, classes: int) -> list[Metric]:
    """Return ``<name>_acc@1``, ``<name>_acc@5``, ``<name>_mean_per_class`` and ``<name>_tied``; fractions."""
    many = classes > TOP_CLASSES
    at_five = accuracy_at(found, TOP_CLASSES) if many else None
    reason = None if many else f"among {classes} classes it is always 1"
    return [
        rank_metric(f"{name}_acc@1", accuracy_at(found, 1), found, detail=True),
        Metric(
            f"{name}_acc@{TOP_CLASSES}", at_five, reason, len(found), library("pairsift"), unit="fraction"
        ),
        rank_metric(f"{name}_mean_per_class", mean_per_class(found, labels), found, detail=True),
        rank_metric(f"{name}_tied", np.mean(found.tied), found, **LOWER),
    ]
