"""Classification by similarity with one item per class: accuracy at 1 and 5, mean accuracy over classes.

The rank of an image is 1 + the number of wrong classes at least as similar as the right one: ties count against the
model, as in retrieval. ``zero_shot_tied`` is the share of images with a tie, by which the accuracies would be higher
at most if ties counted otherwise, as they do in CLIP_benchmark. Classes of one name always tie: of open_clip's names
of ImageNet's 1,000 classes, "missile" and "sunglasses" are there twice, 0.4% of the images.
"""

import numpy as np

from downstream.metrics.metric import Metric, library
from downstream.metrics.ranks import Indices, Ranks, Rows, Ties, ranks, topk_hits

CUTOFF = 5


def class_ranks(rows: Rows, labels: Indices, classes: int, ties: Ties = "against") -> Ranks:
    """Return the rank (from 1) of each image's own class.

    Args:
        rows: function from a slice of c images to their similarities with all classes, (c, classes).
        labels: class of each image, (n,).
        classes: number of classes.
        ties: "against" the model, or by "topk", CLIP_benchmark's rule: of equal classes those count that
            ``torch.topk`` happens to return.
    """
    found = ranks(rows, labels, np.arange(classes))
    if ties == "topk":
        return found.by_topk(topk_hits(rows, labels, np.arange(classes), (1, CUTOFF)))
    return found


def accuracy_at(found: Ranks, k: int) -> float:
    """Return the share of images whose class is among the `k` most similar."""
    return float(np.mean(found.within(k)))


def mean_per_class(found: Ranks, labels: Indices) -> float:
    """Return the mean accuracy (recall) over classes; classes without images are left out."""
    sizes = np.bincount(labels)
    right = np.bincount(labels, weights=found.within(1))
    return float(np.mean(right[sizes > 0] / sizes[sizes > 0]))


def classification_metrics(name: str, found: Ranks, labels: Indices, classes: int) -> list[Metric]:
    """Return ``<name>_acc@1``, ``<name>_acc@5``, ``<name>_mean_per_class`` and ``<name>_tied``; fractions."""
    many = classes > CUTOFF
    at_five = accuracy_at(found, CUTOFF) if many else None
    reason = None if many else f"among {classes} classes it is always 1"
    version = library("pairsift")
    return [
        Metric(f"{name}_acc@1", accuracy_at(found, 1), None, len(found), version),
        Metric(f"{name}_acc@{CUTOFF}", at_five, reason, len(found), version),
        Metric(f"{name}_mean_per_class", mean_per_class(found, labels), None, len(found), version),
        Metric(f"{name}_tied", float(np.mean(found.tied)), None, len(found), version),
    ]
