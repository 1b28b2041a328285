"""Evaluation of a trained model: captions, retrieval or classification, on the evaluation sets that ask for it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from benchmark.core.paths import write_text
from downstream.evaluation.classification import classify
from downstream.evaluation.classification_sets import ClassificationSet
from downstream.evaluation.evaluation_sets import EvaluationSet, Item
from downstream.metrics.diversity import unique_ngrams
from downstream.metrics.java import find_java
from downstream.metrics.metric import ImageId, Metric, UnavailableError
from downstream.metrics.retrieval import retrieval_metrics
from downstream.metrics.suite import score_domains
from downstream.metrics.tokenizer import tokenize
from downstream.models.base import Downstream
from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder

RETRIEVAL_REFERENCES = 5  # some COCO images have six or seven captions; Karpathy's protocol takes five


@dataclass(frozen=True)
class DecodedOnAccess(Mapping[ImageId, Image.Image]):
    """Images by id; thousands of them need not be in memory at once."""

    items_by_id: Mapping[ImageId, Item]

    def __getitem__(self, image: ImageId) -> Image.Image:
        return self.items_by_id[image].load()

    def __iter__(self) -> Iterator[ImageId]:
        return iter(self.items_by_id)

    def __len__(self) -> int:
        return len(self.items_by_id)


def evaluate(
    model: Downstream,
    sets: Sequence[EvaluationSet | ClassificationSet],
    config: Mapping[str, Any],
    folder: Path,
    device: torch.device,
) -> dict[str, list[Metric]]:
    """Evaluate `model` on every set that fits it; metrics by set (``coco``) or domain (``nocaps/out-domain``).

    A captioner's captions are left in `folder` as COCO results, ``captions_<set>.json``, and their diversity by
    position, if that is a metric, as ``diversity_<set>.json``.
    """
    described = [s for s in sets if isinstance(s, EvaluationSet)]
    if isinstance(model, Captioner):
        return _captions(model, [s for s in described if s.captioning], config, folder, device)
    if isinstance(model, DualEncoder):
        found = {s.name: _retrieval(model, s) for s in described if s.retrieval}
        return found | {s.name: classify(model, s) for s in sets if isinstance(s, ClassificationSet)}
    raise TypeError(f"no evaluation for {type(model).__name__}")


def _captions(
    model: Captioner,
    sets: Sequence[EvaluationSet],
    config: Mapping[str, Any],
    folder: Path,
    device: torch.device,
) -> dict[str, list[Metric]]:
    """Caption every image, then score all sets and their domains with one start of the scorers."""
    candidates: dict[ImageId, str] = {}
    references: dict[ImageId, Sequence[str]] = {}
    items: dict[ImageId, Item] = {}
    domains: dict[str, list[ImageId]] = {}
    for evaluation_set in sets:
        captions = model.caption(item.load() for item in evaluation_set.items)
        rows = []
        for item, caption in zip(evaluation_set.items, captions, strict=True):
            key = (evaluation_set.name, item.image_id)
            candidates[key], references[key], items[key] = caption, item.references, item
            domains.setdefault(evaluation_set.name, []).append(key)
            if item.domain:
                domains.setdefault(f"{evaluation_set.name}/{item.domain}", []).append(key)
            rows.append({"image_id": item.image_id, "caption": caption})
        write_text(folder / f"captions_{evaluation_set.name}.json", json.dumps(rows))
        if "Diversity" in config["metrics"]:
            _write_diversity(folder / f"diversity_{evaluation_set.name}.json", captions)
    return score_domains(candidates, references, domains, config, DecodedOnAccess(items), device)


def _write_diversity(path: Path, captions: Sequence[str]) -> None:
    """Write the curves behind Unique-1, -2 and -4: different n-grams that begin at positions 1 to 25."""
    try:
        curves = unique_ngrams(tokenize(captions, find_java()))
    except UnavailableError:  # the metrics are then absent too, and say why
        return
    write_text(path, json.dumps({f"Unique-{length}": curve for length, curve in curves.items()}))


def _retrieval(model: DualEncoder, evaluation_set: EvaluationSet) -> list[Metric]:
    texts = [item.references[:RETRIEVAL_REFERENCES] for item in evaluation_set.items]
    image_of_text = np.repeat(np.arange(len(texts)), [len(t) for t in texts])
    images = model.embed_images(item.load() for item in evaluation_set.items)
    return retrieval_metrics(images, model.embed_texts(t for group in texts for t in group), image_of_text)
