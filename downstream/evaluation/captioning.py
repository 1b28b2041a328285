"""Captioning: a model's captions of every evaluation set, kept on disk as COCO results and scored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark.core.errors import UserError
from benchmark.core.paths import write_text
from downstream.batching import StoredImages
from downstream.evaluation.evaluation_sets import EvaluationSet, Item
from downstream.evaluation.image_scores import ImageScores
from downstream.evaluation.protocols import Captions, Evaluated, Sets
from downstream.metrics.base import CaptionMetric
from downstream.metrics.intervals import with_intervals
from downstream.metrics.metric import ImageId, ScoresOfImages
from downstream.metrics.suite import score_domains

if TYPE_CHECKING:
    import torch


def captioning_sets(sets: Sets) -> list[EvaluationSet]:
    """Return the sets that captioners are evaluated on."""
    return [s for s in sets if isinstance(s, EvaluationSet) and s.captioning]


def evaluate_captions(
    model: Captions, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
) -> Evaluated:
    """Caption every image of the sets for it, then score all sets and their domains with one start of each scorer.

    Returns:
        Metrics by set (``coco``) and by domain of a set (``nocaps/out-domain``). The captions of each set are left in
        `folder` as COCO results, ``captions_<set>.json``, with the scores of single images.
    """
    captions, described = {}, captioning_sets(sets)
    for evaluation_set in described:
        name = evaluation_set.name
        captions[name] = model.caption(StoredImages(evaluation_set.items, f"caption {name}"))
        rows = [
            {"image_id": item.image_id, "caption": caption}
            for item, caption in zip(evaluation_set.items, captions[name], strict=True)
        ]
        write_text(folder / f"captions_{name}.json", json.dumps(rows))
    return score_captions_of_sets(described, captions, metrics, folder, device)


def score_captions_of_sets(
    sets: Sequence[EvaluationSet],
    captions: Mapping[str, Sequence[str]],
    metrics: Sequence[CaptionMetric],
    folder: Path,
    device: torch.device,
) -> Evaluated:
    """Score the captions of each set, given by its name in the order of its images; see `evaluate_captions`."""
    candidates: dict[ImageId, str] = {}
    references: dict[ImageId, Sequence[str]] = {}
    items: dict[ImageId, Item] = {}
    domains: dict[str, list[ImageId]] = {}
    for evaluation_set in sets:
        for item, caption in zip(evaluation_set.items, captions[evaluation_set.name], strict=True):
            key = (evaluation_set.name, item.image_id)
            candidates[key], references[key], items[key] = caption, item.references, item
            domains.setdefault(evaluation_set.name, []).append(key)
            if item.domain:
                domains.setdefault(f"{evaluation_set.name}/{item.domain}", []).append(key)
    images = items if all(item.image for item in items.values()) else None
    of_images: ScoresOfImages = {}
    scored = score_domains(candidates, references, domains, metrics, images, device, of_images)
    kept = ImageScores()
    for metric, values in of_images.items():
        for evaluation_set in sets:
            ids = [
                item.image_id
                for item in evaluation_set.items
                if (evaluation_set.name, item.image_id) in values
            ]
            kept.add(evaluation_set.name, metric, ids, [values[evaluation_set.name, image] for image in ids])
    kept.write(folder)
    evaluated = {}
    for domain, found in scored.items():
        of_domain = domains.get(domain, [])
        columns = {
            name: np.array([values[image] for image in of_domain], float)
            for name, values in of_images.items()
            if all(image in values for image in of_domain)
        }
        evaluated[domain] = with_intervals(found, columns, np.ones(len(of_domain)))
    return evaluated


def read_coco_results(path: Path) -> dict[str, str]:
    """Return the caption of each image id as text, which some files quote; of an image's rows the first counts.

    Published result files repeat images, and their published scores count the first rows. Raises `UserError`
    for any other file.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} cannot be read as COCO results: {error}") from None
    if not isinstance(rows, list):
        raise UserError(
            f"{path} must be COCO results, a JSON list of rows, but holds a {type(rows).__name__}; give another file"
        )
    captions: dict[str, str] = {}
    for number, row in enumerate(rows):
        match row:
            case {"image_id": int() | str() as image, "caption": str() as caption}:
                captions.setdefault(str(image), caption)
            case _:
                raise UserError(f'{path}: row {number} is not {{"image_id": ..., "caption": "..."}}')
    return captions
