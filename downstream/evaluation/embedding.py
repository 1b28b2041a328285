"""Evaluation of a model that embeds images and texts: retrieval, zero-shot classification, a linear probe."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import model_text
from benchmark.core.errors import UserError
from benchmark.core.progress import tracked
from downstream.batching import StoredImages
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.image_scores import ImageScores, keep_ranks
from downstream.evaluation.protocols import Embeds, Evaluated, FrozenTower, Sets
from downstream.metrics.corpus_scores import Doubles
from downstream.metrics.intervals import LABEL, class_weights, with_intervals
from downstream.metrics.metric import Metric, failure, library
from downstream.metrics.rank_metrics import (
    CUTOFFS,
    TOP_CLASSES,
    Indices,
    Ranks,
    accuracy_at,
    class_ranks,
    classification_metrics,
    mean_per_class,
    rank_metric,
    retrieval_metrics,
    retrieval_ranks,
)

MAX_REFERENCES = 5  # some COCO images have six or seven captions; Karpathy's protocol takes five


def evaluate_embeddings(model: Embeds, sets: Sets, tower: FrozenTower | str, folder: Path) -> Evaluated:
    """Evaluate on every set for retrieval, then on every classification set.

    `tower` is for the linear probe, see `classify`; `folder` gets the ranks of all queries.
    """
    kept = ImageScores()
    described = [s for s in sets if isinstance(s, EvaluationSet) and s.retrieval]
    results = {
        s.name: _or_failure("retrieval", partial(evaluate_retrieval, model, s, kept)) for s in described
    }
    labelled = [s for s in sets if isinstance(s, ClassificationSet)]
    results |= {
        s.name: _or_failure("classification", partial(classify, model, s, tower, kept)) for s in labelled
    }
    kept.write(folder)
    return results


def _or_failure(name: str, evaluate: Callable[[], list[Metric]]) -> list[Metric]:
    """Return the metrics of a set, or, if they fail, one absent metric of that name."""
    try:
        return evaluate()
    except UserError:
        raise
    except Exception as error:
        return [Metric(name, None, failure(name, error), 0, "")]


def evaluate_retrieval(model: Embeds, evaluation_set: EvaluationSet, kept: ImageScores) -> list[Metric]:
    """Return the retrieval metrics of the set, text-to-image and image-to-text.

    Each distinct text is embedded once, in the order of the alphabet: captions that several images share tie exactly,
    whatever the batch size and the order of the set. `kept` gets the rank of every query, and its hits.
    """
    texts = [[model_text(text) for text in item.references[:MAX_REFERENCES]] for item in evaluation_set.items]
    image_of_text = np.repeat(np.arange(len(texts)), [len(group) for group in texts])
    # As objects: fixed-width strings would all be as wide as the longest.
    every = np.array([text for group in texts for text in group], dtype=object)
    distinct, index = np.unique(every, return_inverse=True)
    title = f"embed {evaluation_set.name}"
    images = model.embed_images(StoredImages(evaluation_set.items, title))
    embedded = model.embed_texts(tracked(title, distinct.tolist(), len(distinct), "captions"))
    to_images, to_texts = retrieval_ranks(images, embedded[index], image_of_text, evaluation_set.ties)
    ids = [item.image_id for item in evaluation_set.items]
    metrics = retrieval_metrics(to_images, to_texts)
    directions = [("text_to_image", to_images, image_of_text)]
    directions.append(("image_to_text", to_texts, np.arange(len(ids))))
    for name, ranks, image_of_query in directions:
        hits = {f"{name}_R@{k}": ranks.within(k) for k in CUTOFFS}
        keep_ranks(kept, evaluation_set.name, name, [ids[image] for image in image_of_query], ranks, hits)
        columns = {m: _per_image(image_of_query, h.astype(float)) for m, h in hits.items()}
        metrics = with_intervals(metrics, columns, _per_image(image_of_query, np.ones(len(ranks))))
    return metrics


def _per_image(image_of_query: Indices, values: Doubles) -> Doubles:
    """Return the sum of each image's queries, (n,)."""
    return np.asarray(np.bincount(image_of_query, values), float)


def classify(
    model: Embeds, evaluation_set: ClassificationSet, tower: FrozenTower | str, kept: ImageScores
) -> list[Metric]:
    """Return the metrics of a classification set, fractions.

    ``zero_shot`` and ``linear_probe`` are the figures that papers report for this set (its `score`); the former is
    detailed by ``zero_shot_acc@1``, ``zero_shot_acc@5``, ``zero_shot_mean_per_class`` and ``zero_shot_tied``.

    Args:
        tower: the image tower that a linear probe is trained on, or the reason why none is. The probe is then absent
            with this reason, and so it is for a set without training images.
        kept: gets the class of each image, and the rank of its class.
    """
    labels = np.array([item.label for item in evaluation_set.test])
    embeddings = class_embeddings(model, evaluation_set)
    images = model.embed_images(StoredImages(evaluation_set.test, f"embed {evaluation_set.name}"))
    ranks = class_ranks(
        lambda part: images[part].astype(np.float64) @ embeddings.T,
        labels,
        len(embeddings),
        evaluation_set.ties,
    )
    ids = [item.image_id for item in evaluation_set.test]
    kept.add(evaluation_set.name, LABEL, ids, labels.tolist())
    of_image = {f"zero_shot_acc@{k}": (ranks.within(k), np.ones(len(labels))) for k in (1, TOP_CLASSES)}
    of_image["zero_shot_mean_per_class"] = ranks.within(1), class_weights(labels)
    of_image["zero_shot"] = ranks.within(1), _image_weights(evaluation_set.score, labels)
    hits = {name: within * weights for name, (within, weights) in of_image.items()}
    keep_ranks(kept, evaluation_set.name, "zero_shot", ids, ranks, hits)
    details = classification_metrics("zero_shot", ranks, labels, len(evaluation_set.classes))
    metrics = [_score("zero_shot", evaluation_set, ranks, labels), *details]
    for name, (_, weights) in of_image.items():
        metrics = with_intervals(metrics, {name: hits[name]}, weights, labels)
    return [*metrics, _linear_probe(tower, evaluation_set, kept)]


def class_embeddings(model: Embeds, evaluation_set: ClassificationSet) -> npt.NDArray[np.float64]:
    """Return one unit vector per class, (classes, d): the mean of its prompts' unit vectors (DS-CLIP, section C)."""
    prompts = evaluation_set.prompts()
    classes = tracked(f"embed {evaluation_set.name}", prompts, len(evaluation_set.classes), "classes")
    means = np.stack([model.embed_texts(of_class).mean(axis=0, dtype=np.float64) for of_class in classes])
    embeddings: npt.NDArray[np.float64] = means / np.linalg.norm(means, axis=1, keepdims=True)
    return embeddings


def _score(name: str, evaluation_set: ClassificationSet, ranks: Ranks, labels: Indices) -> Metric:
    by_class = evaluation_set.score == "mean_per_class"
    value = mean_per_class(ranks, labels) if by_class else accuracy_at(ranks, 1)
    return rank_metric(name, value, ranks)


def _image_weights(score: str, labels: Indices) -> Doubles:
    """Return the weights of n images in the score: for ``mean_per_class`` images of rare classes weigh more."""
    return class_weights(labels) if score == "mean_per_class" else np.ones(len(labels))


def _linear_probe(tower: FrozenTower | str, evaluation_set: ClassificationSet, kept: ImageScores) -> Metric:
    if isinstance(tower, str) or evaluation_set.train is None:
        reason = tower if isinstance(tower, str) else "the set has no training images"
        return Metric("linear_probe", None, reason, len(evaluation_set), library("pairsift"), unit="fraction")
    from downstream.evaluation.linear_probe import probe_ranks

    labels = np.array([item.label for item in evaluation_set.test])
    ranks = probe_ranks(tower, evaluation_set)
    weights = _image_weights(evaluation_set.score, labels)
    hits = {"linear_probe": ranks.within(1) * weights}
    ids = [item.image_id for item in evaluation_set.test]
    keep_ranks(kept, evaluation_set.name, "probe", ids, ranks, hits)
    score = _score("linear_probe", evaluation_set, ranks, labels)
    return with_intervals([score], hits, weights, labels)[0]
