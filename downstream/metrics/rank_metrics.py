"""Metrics of ranks: retrieval (R@1, R@5, R@10, median rank) and classification (accuracy at 1 and 5, mean per class).

As in Karpathy's splits, a text matches one image, and an image matches all its texts. The rank of a labelled image is
1 + the number of wrong classes at least as similar as the right one. Ties count against the model (see
`downstream.metrics.ranks`); ``text_to_image_tied``, ``image_to_text_tied``, ``zero_shot_tied`` are the fractions of
queries with a tie, by which the other metrics would be higher at most if ties counted otherwise, as they do in
CLIP_benchmark. Classes of one name always tie: among open_clip's names of ImageNet's 1,000 classes, "missile" and
"sunglasses" are there twice, 0.4% of the images.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from downstream.metrics.metric import Metric, library
from downstream.metrics.ranks import Array, Indices, Ranks, Rows, Ties, ranks, topk_hits

CUTOFFS = (1, 5, 10)
TOP_CLASSES = 5


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

    Raises:
        ValueError: features that are zero or not finite, indices that do not fit.
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
    make = partial(Metric, reason=None, count=len(found), version=library("pairsift"))
    recalls = [
        make(f"{direction}_R@{k}", float(np.mean(found.within(k))), unit="fraction", detail=k > shown)
        for k in CUTOFFS
    ]
    median = make(
        f"{direction}_median_rank",
        float(np.median(found.ranks)),
        unit="rank",
        higher_is_better=False,
        detail=True,
    )
    return [*recalls, median, _tied(direction, found)]


def _tied(name: str, found: Ranks) -> Metric:
    tied = float(np.mean(found.tied))
    return Metric(
        f"{name}_tied", tied, None, len(found), library("pairsift"),
        unit="fraction", higher_is_better=False, detail=True,
    )  # fmt: skip


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
    make = partial(Metric, count=len(found), version=library("pairsift"), unit="fraction")
    return [
        make(f"{name}_acc@1", accuracy_at(found, 1), None, detail=True),
        make(f"{name}_acc@{TOP_CLASSES}", at_five, reason),
        make(f"{name}_mean_per_class", mean_per_class(found, labels), None, detail=True),
        _tied(name, found),
    ]
