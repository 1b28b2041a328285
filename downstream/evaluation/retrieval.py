"""Retrieval between the images and the captions of an evaluation set."""

import numpy as np

from benchmark.core.model_text import model_text
from downstream.batching import StoredImages
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.image_scores import ImageScores, keep_ranks
from downstream.evaluation.protocols import Embeds
from downstream.metrics.corpus_scores import Doubles
from downstream.metrics.intervals import with_intervals
from downstream.metrics.metric import Metric
from downstream.metrics.ranks import Indices
from downstream.metrics.retrieval import CUTOFFS, retrieval_metrics, retrieval_ranks

MAX_REFERENCES = 5  # some COCO images have six or seven captions; Karpathy's protocol takes five


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
    images = model.embed_images(StoredImages(evaluation_set.items))
    embedded = model.embed_texts(distinct.tolist())
    to_images, to_texts = retrieval_ranks(images, embedded[index], image_of_text, evaluation_set.ties)
    ids = [item.image_id for item in evaluation_set.items]
    metrics = retrieval_metrics(to_images, to_texts)
    directions = (
        ("text_to_image", to_images, image_of_text),
        ("image_to_text", to_texts, np.arange(len(ids))),
    )
    for name, found, image_of_query in directions:
        hits = {f"{name}_R@{k}": found.within(k) for k in CUTOFFS}
        keep_ranks(kept, evaluation_set.name, name, [ids[image] for image in image_of_query], found, hits)
        columns = {m: _per_image(image_of_query, h.astype(float)) for m, h in hits.items()}
        metrics = with_intervals(metrics, columns, _per_image(image_of_query, np.ones(len(found))))
    return metrics


def _per_image(image_of_query: Indices, values: Doubles) -> Doubles:
    """Return the sum of each image's queries, (n,)."""
    return np.asarray(np.bincount(image_of_query, values), float)
