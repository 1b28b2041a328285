"""Text-to-image and image-to-text retrieval: R@1, R@5, R@10 and the median rank, in bounded memory.

The rank of a query is that of its best match: 1 + the number of wrong items at least as similar. Ties thus count
against the model, in any order of the items: features that have collapsed to one point get the worst rank, not the
first. As in Karpathy's splits, a text matches one image, and an image matches all its texts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from downstream.metrics.metric import Metric, library

CUTOFFS = (1, 5, 10)
CHUNK_BYTES = 1 << 26
# Similarities closer than this are ties: float64 sums in another order differ by 1e-15, and ranks must not depend on
# chunks, threads or the BLAS.
TIE = 1e-9

Array = npt.NDArray[np.floating[Any]]
Indices = npt.NDArray[np.integer[Any]]
Rows = Callable[[slice], Array]


def retrieval_metrics(images: Array, texts: Array, image_of_text: Indices) -> list[Metric]:
    """Return the retrieval metrics of features, compared by cosine similarity.

    Args:
        images: features (n, d).
        texts: features (m, d).
        image_of_text: index of each text's image, (m,); every image must have a text.

    Raises:
        ValueError: features that are zero or not finite, indices that do not fit.
    """
    images, texts = _normalised(images), _normalised(texts)
    to_images = ranks(lambda part: texts[part] @ images.T, image_of_text, np.arange(len(images)))
    to_texts = ranks(lambda part: images[part] @ texts.T, np.arange(len(images)), image_of_text)
    return _metrics("text_to_image", to_images) + _metrics("image_to_text", to_texts)


def retrieval_metrics_of(similarity: Array, image_of_text: Indices) -> list[Metric]:
    """Return the retrieval metrics of a similarity matrix, texts by images, (m, n); see `retrieval_metrics`."""
    images = np.arange(similarity.shape[1])
    to_images = ranks(lambda part: similarity[part], image_of_text, images)
    to_texts = ranks(lambda part: similarity[:, part].T, images, image_of_text)
    return _metrics("text_to_image", to_images) + _metrics("image_to_text", to_texts)


def ranks(rows: Rows, query_group: Indices, item_group: Indices) -> npt.NDArray[np.int64]:
    """Return the rank (from 1) of each query's best match among all items.

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
    chunk = max(1, CHUNK_BYTES // (8 * len(item_group)))
    result = np.empty(len(query_group), np.int64)
    for start in range(0, len(query_group), chunk):
        part = slice(start, start + chunk)
        similarity = rows(part).astype(np.float64, copy=False)
        if not np.isfinite(similarity).all():
            raise ValueError("similarities must be finite")
        right = query_group[part, None] == item_group
        best = np.where(right, similarity, -np.inf).max(axis=1, keepdims=True)
        result[part] = 1 + np.count_nonzero((similarity >= best - TIE) & ~right, axis=1)
    return result


def _normalised(features: Array) -> npt.NDArray[np.float64]:
    exact: npt.NDArray[np.float64] = features.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ValueError("features must be finite and not zero")
    exact /= lengths
    return exact


def _metrics(direction: str, query_ranks: npt.NDArray[np.int64]) -> list[Metric]:
    values = {f"R@{k}": float(np.mean(query_ranks <= k)) for k in CUTOFFS}
    values["median_rank"] = float(np.median(query_ranks))
    return [
        Metric(f"{direction}_{name}", value, None, len(query_ranks), library("pairsift"))
        for name, value in values.items()
    ]
