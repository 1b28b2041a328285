"""Classification by similarity with one item for each class: accuracy at 1 and 5, mean accuracy of the classes.

An image's rank is 1 + the number of wrong classes that are at least as similar as the right one, so that a tie
counts against the model, as in retrieval.
"""

import numpy as np
import numpy.typing as npt

from downstream.metrics.metric import Metric, library
from downstream.metrics.retrieval import Indices, Rows, ranks

CUTOFF = 5


def class_ranks(rows: Rows, labels: Indices, classes: int) -> npt.NDArray[np.int64]:
    """Return the rank (from 1) of each image's own class.

    Args:
        rows: gives the similarities of a slice of images with all classes, (c, classes).
        labels: class of each image, (n,).
        classes: how many there are.
    """
    return ranks(rows, labels, np.arange(classes))


def accuracy_at(found: npt.NDArray[np.int64], k: int) -> float:
    """Return the share of images whose class is among the `k` most similar."""
    return float(np.mean(found <= k))


def mean_per_class(found: npt.NDArray[np.int64], labels: Indices) -> float:
    """Return the mean of the classes' accuracies (recalls); a class without an image has none."""
    sizes = np.bincount(labels)
    right = np.bincount(labels, weights=found == 1)
    return float(np.mean(right[sizes > 0] / sizes[sizes > 0]))


def classification_metrics(
    name: str, found: npt.NDArray[np.int64], labels: Indices, classes: int
) -> list[Metric]:
    """Return ``<name>_acc@1``, ``<name>_acc@5`` and ``<name>_mean_per_class`` of ranks (n,); fractions."""
    many = classes > CUTOFF
    at_five = accuracy_at(found, CUTOFF) if many else None
    reason = None if many else f"among {classes} classes it is always 1"
    version = library("pairsift")
    return [
        Metric(f"{name}_acc@1", accuracy_at(found, 1), None, len(found), version),
        Metric(f"{name}_acc@{CUTOFF}", at_five, reason, len(found), version),
        Metric(f"{name}_mean_per_class", mean_per_class(found, labels), None, len(found), version),
    ]
