"""Classification by similarity with one item per class: accuracy at 1 and 5, mean accuracy over classes.

The rank of an image is 1 + the number of wrong classes at least as similar as the right one: ties count against the
model, as in retrieval.
"""

import numpy as np
import numpy.typing as npt

from downstream.metrics.metric import Metric, library
from downstream.metrics.retrieval import Indices, Rows, ranks

CUTOFF = 5


def class_ranks(rows: Rows, labels: Indices, classes: int) -> npt.NDArray[np.int64]:
    """Return the rank (from 1) of each image's own class, (n,).

    Args:
        rows: function from a slice of c images to their similarities with all classes, (c, classes).
        labels: class of each image, (n,).
        classes: number of classes.
    """
    return ranks(rows, labels, np.arange(classes))


def accuracy_at(class_rank: npt.NDArray[np.int64], k: int) -> float:
    """Return the share of images whose class is among the `k` most similar."""
    return float(np.mean(class_rank <= k))


def mean_per_class(class_rank: npt.NDArray[np.int64], labels: Indices) -> float:
    """Return the mean accuracy (recall) over classes; classes without images are left out."""
    sizes = np.bincount(labels)
    right = np.bincount(labels, weights=class_rank == 1)
    return float(np.mean(right[sizes > 0] / sizes[sizes > 0]))


def classification_metrics(
    name: str, class_rank: npt.NDArray[np.int64], labels: Indices, classes: int
) -> list[Metric]:
    """Return ``<name>_acc@1``, ``<name>_acc@5`` and ``<name>_mean_per_class`` of ranks (n,); fractions."""
    many = classes > CUTOFF
    at_five = accuracy_at(class_rank, CUTOFF) if many else None
    reason = None if many else f"among {classes} classes it is always 1"
    version = library("pairsift")
    return [
        Metric(f"{name}_acc@1", accuracy_at(class_rank, 1), None, len(class_rank), version),
        Metric(f"{name}_acc@{CUTOFF}", at_five, reason, len(class_rank), version),
        Metric(f"{name}_mean_per_class", mean_per_class(class_rank, labels), None, len(class_rank), version),
    ]
