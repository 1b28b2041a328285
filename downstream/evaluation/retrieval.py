"""Retrieval between the images and the captions of an evaluation set."""

import numpy as np

from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.protocols import Embeds
from downstream.metrics.metric import Metric
from downstream.metrics.retrieval import retrieval_metrics

MAX_REFERENCES = 5  # some COCO images have six or seven captions; Karpathy's protocol takes five


def evaluate_retrieval(model: Embeds, evaluation_set: EvaluationSet) -> list[Metric]:
    """Return the retrieval metrics of the set, text-to-image and image-to-text."""
    texts = [item.references[:MAX_REFERENCES] for item in evaluation_set.items]
    image_of_text = np.repeat(np.arange(len(texts)), [len(group) for group in texts])
    images = model.embed_images(item.load() for item in evaluation_set.items)
    return retrieval_metrics(
        images, model.embed_texts(text for group in texts for text in group), image_of_text
    )
