"""Validation of captions or retrieval on a small fixed part of an evaluation set. Nothing is chosen by it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from PIL import Image

from benchmark.core.images import THUMBNAIL
from benchmark.core.progress import CaptionedImage
from downstream.evaluation.captioning import captioning_sets
from downstream.evaluation.embedding import evaluate_retrieval
from downstream.evaluation.evaluation_sets import EvaluationSet
from downstream.evaluation.image_scores import ImageScores
from downstream.evaluation.protocols import Captions, Embeds, Sets, Validate, Validated
from downstream.metrics.coco_metrics import Cider
from downstream.metrics.metric import ImageId, Metric
from downstream.metrics.suite import score_captions

IMAGES, SHOWN = 100, 8
RETRIEVAL = "text_to_image_R@1"


def make_validation(model: object, sets: Sets) -> Validate | None:
    """Return a function that measures `model` on a part of the first set that fits it; None without such a set."""
    if isinstance(model, Captions):
        for captioning in captioning_sets(sets):
            return partial(validate_captions, model, part_of(captioning))
    if isinstance(model, Embeds):
        for retrieval in (s for s in sets if isinstance(s, EvaluationSet) and s.retrieval):
            return partial(validate_retrieval, model, part_of(retrieval))
    return None


def part_of(evaluation_set: EvaluationSet) -> EvaluationSet:
    """Return at most `IMAGES` images of the set, evenly spaced, always the same."""
    every = evaluation_set.items
    chosen = np.linspace(0, len(every) - 1, min(IMAGES, len(every))).astype(int)
    return replace(evaluation_set, items=[every[index] for index in chosen])


def validate_captions(model: Captions, part: EvaluationSet) -> Validated:
    """Return CIDEr, absent without Java, and the captions of the first `SHOWN` images."""
    captions = model.caption(item.load() for item in part.items)
    ids: list[ImageId] = [item.image_id for item in part.items]
    references = dict(zip(ids, (item.references for item in part.items), strict=True))
    metrics = score_captions(dict(zip(ids, captions, strict=True)), references, [Cider()])
    shown = [
        CaptionedImage(_thumbnail(item.load()), caption, tuple(item.references))
        for item, caption in zip(part.items[:SHOWN], captions, strict=False)
    ]
    return Validated(_values(metrics), shown)


def validate_retrieval(model: Embeds, part: EvaluationSet) -> Validated:
    """Return recall at 1 of retrieving an image by its caption."""
    metrics = evaluate_retrieval(model, part, ImageScores())
    return Validated(_values([metric for metric in metrics if metric.name == RETRIEVAL]))


def _values(metrics: Sequence[Metric]) -> dict[str, float]:
    return {metric.name: metric.value for metric in metrics if metric.value is not None}


def _thumbnail(image: Image.Image) -> Image.Image:
    image.thumbnail((THUMBNAIL, THUMBNAIL))
    return image
