"""A dual encoder as a classifier: zero-shot, by the names of classes, and by a linear probe (DS-CLIP, B and C)."""

import numpy as np
import numpy.typing as npt

from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.linear_probe import LOCKED, probe_ranks
from downstream.metrics.classification import accuracy_at, class_ranks, classification_metrics, mean_per_class
from downstream.metrics.metric import Metric, library
from downstream.models.dual_encoder import DualEncoder


def classify(model: DualEncoder, evaluation_set: ClassificationSet) -> list[Metric]:
    """Return the metrics of a classification set, fractions.

    ``zero_shot`` and ``linear_probe`` are what the field reports of this set (its `score`); of the former there are
    also ``zero_shot_acc@1``, ``zero_shot_acc@5`` and ``zero_shot_mean_per_class``. The probe is absent with its
    reason where the image tower is locked, or the set has no training images.
    """
    labels = np.array([item.label for item in evaluation_set.test])
    found = _zero_shot_ranks(model, evaluation_set, labels)
    details = classification_metrics("zero_shot", found, labels, len(evaluation_set.classes))
    return [
        _score("zero_shot", evaluation_set, found, labels),
        *details,
        _linear_probe(model, evaluation_set),
    ]


def class_embeddings(model: DualEncoder, evaluation_set: ClassificationSet) -> npt.NDArray[np.float64]:
    """Return a unit vector for each class, (classes, d): the mean of its prompts' unit vectors (section C)."""
    prompts = evaluation_set.prompts()
    means = np.stack([model.embed_texts(of_class).mean(axis=0, dtype=np.float64) for of_class in prompts])
    embeddings: npt.NDArray[np.float64] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return embeddings


def _zero_shot_ranks(
    model: DualEncoder, evaluation_set: ClassificationSet, labels: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    classes = class_embeddings(model, evaluation_set)
    images = model.embed_images(item.load() for item in evaluation_set.test)
    return class_ranks(lambda part: images[part].astype(np.float64) @ classes.T, labels, len(classes))


def _score(
    name: str,
    evaluation_set: ClassificationSet,
    found: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
) -> Metric:
    by_class = evaluation_set.score == "mean_per_class"
    value = mean_per_class(found, labels) if by_class else accuracy_at(found, 1)
    return Metric(name, value, None, len(found), library("pairsift"))


def _linear_probe(model: DualEncoder, evaluation_set: ClassificationSet) -> Metric:
    reason = LOCKED if model.locked else None
    if reason is None and evaluation_set.train is None:
        reason = "the set has no training images"
    if reason is not None:
        return Metric("linear_probe", None, reason, len(evaluation_set), library("pairsift"))
    labels = np.array([item.label for item in evaluation_set.test])
    return _score("linear_probe", evaluation_set, probe_ranks(model, evaluation_set), labels)
