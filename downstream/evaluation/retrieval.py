"""Retrieval between the images and the captions of an evaluation set."""

import numpy as np

from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.image_scores import ImageScores, keep_ranks
from downstream.evaluation.protocols import Embeds
from downstream.metrics.metric import Metric
from downstream.metrics.retrieval import CUTOFFS, retrieval_metrics, retrieval_ranks

MAX_REFERENCES = 5  # some COCO images have six or seven captions; Karpathy's protocol takes five


def evaluate_retrieval(model: Embeds, evaluation_set: EvaluationSet, kept: ImageScores) -> list[Metric]:
    """Return the retrieval metrics of the set, text-to-image and image-to-text.

    Each distinct text is embedded once, in the order of the alphabet: captions that several images share tie exactly,
    whatever the batch size and the order of the set. `kept` gets the rank of every query, and its hits.
    """
    texts = [item.references[:MAX_REFERENCES] for item in evaluation_set.items]
    image_of_text = np.repeat(np.arange(len(texts)), [len(group) for group in texts])
    # As objects: fixed-width strings would all be as wide as the longest.
    every = np.array([text for group in texts for text in group], dtype=object)
    distinct, index = np.unique(every, return_inverse=True)
    images = model.embed_images(item.load() for item in evaluation_set.items)
    embedded = model.embed_texts(distinct.tolist())
    to_images, to_texts = retrieval_ranks(images, embedded[index], image_of_text, evaluation_set.ties)
    ids = [item.image_id for item in evaluation_set.items]
    owners = [ids[image] for image in image_of_text]
    keep_ranks(kept, evaluation_set.name, "text_to_image", owners, to_images, CUTOFFS)
    keep_ranks(kept, evaluation_set.name, "image_to_text", ids, to_texts, CUTOFFS)
    return retrieval_metrics(to_images, to_texts)
