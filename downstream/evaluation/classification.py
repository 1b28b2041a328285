"""Classification: zero-shot by the names of the classes, and with a linear probe (DS-CLIP, supplement, B and C)."""

import numpy as np
import numpy.typing as npt

from downstream.batching import StoredImages
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.image_scores import ImageScores, keep_ranks
from downstream.evaluation.linear_probe import FrozenTower, probe_ranks
from downstream.evaluation.protocols import Embeds
from downstream.metrics.classification import (
    CUTOFF,
    accuracy_at,
    class_ranks,
    classification_metrics,
    mean_per_class,
)
from downstream.metrics.corpus_scores import Doubles
from downstream.metrics.intervals import with_intervals
from downstream.metrics.metric import Metric, library
from downstream.metrics.ranks import Ranks


def classify(
    model: Embeds, evaluation_set: ClassificationSet, tower: FrozenTower | str, kept: ImageScores
) -> list[Metric]:
    """Return the metrics of a classification set, fractions.

    ``zero_shot`` and ``linear_probe`` are the figures that papers report for this set (its `score`); the former is
    detailed by ``zero_shot_acc@1``, ``zero_shot_acc@5``, ``zero_shot_mean_per_class`` and ``zero_shot_tied``.

    Args:
        model: embeds images and prompts.
        evaluation_set: images, classes and prompts.
        tower: the image tower that a linear probe is trained on, or the reason why none is. The probe is then absent
            with this reason, and so it is for a set without training images.
        kept: gets the class of each image, and the rank of its class.
    """
    labels = np.array([item.label for item in evaluation_set.test])
    ranks = _zero_shot_ranks(model, evaluation_set, labels)
    ids = [item.image_id for item in evaluation_set.test]
    kept.add(evaluation_set.name, "label", ids, labels.tolist())
    hits = {f"zero_shot_acc@{k}": ranks.within(k).astype(float) for k in (1, CUTOFF)}
    hits["zero_shot_mean_per_class"] = _per_image("mean_per_class", ranks, labels)
    hits["zero_shot"] = _per_image(evaluation_set.score, ranks, labels)
    keep_ranks(kept, evaluation_set.name, "zero_shot", ids, ranks, hits)
    details = classification_metrics("zero_shot", ranks, labels, len(evaluation_set.classes))
    score = _score("zero_shot", evaluation_set, ranks, labels)
    metrics = with_intervals([score, *details], hits, np.ones(len(labels)))
    return [*metrics, _linear_probe(tower, evaluation_set, kept)]


def class_embeddings(model: Embeds, evaluation_set: ClassificationSet) -> npt.NDArray[np.float64]:
    """Return one unit vector per class, (classes, d): the mean of its prompts' unit vectors (DS-CLIP, section C)."""
    prompts = evaluation_set.prompts()
    means = np.stack([model.embed_texts(of_class).mean(axis=0, dtype=np.float64) for of_class in prompts])
    embeddings: npt.NDArray[np.float64] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return embeddings


def _zero_shot_ranks(
    model: Embeds, evaluation_set: ClassificationSet, labels: npt.NDArray[np.int64]
) -> Ranks:
    classes = class_embeddings(model, evaluation_set)
    images = model.embed_images(StoredImages(evaluation_set.test))
    return class_ranks(
        lambda part: images[part].astype(np.float64) @ classes.T, labels, len(classes), evaluation_set.ties
    )


def _score(
    name: str,
    evaluation_set: ClassificationSet,
    ranks: Ranks,
    labels: npt.NDArray[np.int64],
) -> Metric:
    by_class = evaluation_set.score == "mean_per_class"
    value = mean_per_class(ranks, labels) if by_class else accuracy_at(ranks, 1)
    return Metric(name, value, None, len(ranks), library("pairsift"))


def _per_image(score: str, ranks: Ranks, labels: npt.NDArray[np.int64]) -> Doubles:
    """Return n values whose mean is the score; for ``mean_per_class`` hits of rare classes weigh more."""
    hits = ranks.within(1).astype(float)
    if score != "mean_per_class":
        return hits
    sizes = np.bincount(labels)
    return np.asarray(hits * len(labels) / (np.count_nonzero(sizes) * sizes[labels]), float)


def _linear_probe(tower: FrozenTower | str, evaluation_set: ClassificationSet, kept: ImageScores) -> Metric:
    if isinstance(tower, str) or evaluation_set.train is None:
        reason = tower if isinstance(tower, str) else "the set has no training images"
        return Metric("linear_probe", None, reason, len(evaluation_set), library("pairsift"))
    labels = np.array([item.label for item in evaluation_set.test])
    ranks = probe_ranks(tower, evaluation_set)
    hits = {"linear_probe": _per_image(evaluation_set.score, ranks, labels)}
    keep_ranks(
        kept, evaluation_set.name, "probe", [item.image_id for item in evaluation_set.test], ranks, hits
    )
    score = _score("linear_probe", evaluation_set, ranks, labels)
    return with_intervals([score], hits, np.ones(len(labels)))[0]
