"""Retrieval between the images and the captions of an evaluation set."""

import numpy as np

from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.protocols import Embeds
from downstream.metrics.metric import Metric
from downstream.metrics.retrieval import retrieval_metrics

MAX_REFERENCES = 5  # some COCO images have six or seven captions; Karpathy's protocol takes five


def evaluate_retrieval(model: Embeds, evaluation_set: EvaluationSet) -> list[Metric]:
    """Return the retrieval metrics of the set, text-to-image and image-to-text.

    Each distinct text is embedded once, in the order of the alphabet: captions that several images share tie exactly,
    whatever the batch size and the order of the set.
    """
    texts = [item.references[:MAX_REFERENCES] for item in evaluation_set.items]
    image_of_text = np.repeat(np.arange(len(texts)), [len(group) for group in texts])
    # As objects: fixed-width strings would all be as wide as the longest.
    every = np.array([text for group in texts for text in group], dtype=object)
    distinct, index = np.unique(every, return_inverse=True)
    images = model.embed_images(item.load() for item in evaluation_set.items)
    embedded = model.embed_texts(distinct.tolist())
    return retrieval_metrics(images, embedded[index], image_of_text, evaluation_set.ties)
