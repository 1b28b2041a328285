"""BERTScore F1 (Zhang et al. 2019) with bert-score's matching and any encoder of the hub or of a folder."""

import csv
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmark.core.errors import UserError
from benchmark.models.bert_match import load_bert_matcher
from benchmark.models.checkpoints import locate_checkpoint
from downstream.metrics.metric import Corpus, ImageId, UnavailableError

# Embeddings are kept for so many images at a time: all 30,000 captions of COCO would take 2 GB.
IMAGES_AT_ONCE = 256


@dataclass(frozen=True)
class BertScoreConfig:
    """Encoder (hub name or folder), the layer to compare, and bert-score's baseline file to rescale with.

    bert-score's default for English is roberta-large, layer 17.
    """

    model: str
    num_layers: int
    baseline_path: str | None = None

    def locate(self) -> Path:
        """Return the encoder's folder. Raises `UnavailableError` if it cannot be had."""
        try:
            return locate_checkpoint(self.model)
        except UserError as error:
            raise UnavailableError(str(error)) from None


def bert_score(corpus: Corpus, config: BertScoreConfig, device: torch.device) -> dict[ImageId, float]:
    """Return each image's best F1 over its references, at most 1; the metric is their mean.

    An empty candidate, or one without a non-empty reference, has F1 0 before rescaling, as in bert-score.
    Raises `UnavailableError` without the encoder, `UserError` for a layer or baseline it does not have.
    """
    matcher = load_bert_matcher(str(config.locate()), config.num_layers, device)
    baseline = _baseline(config)
    images = list(corpus.candidates)
    best: dict[ImageId, float] = {}
    for start in range(0, len(images), IMAGES_AT_ONCE):
        pairs = [
            (image, corpus.candidates[image], reference)
            for image in images[start : start + IMAGES_AT_ONCE]
            for reference in corpus.references[image]
        ]
        found = matcher.f1([pair[1] for pair in pairs], [pair[2] for pair in pairs])
        for (image, _, _), score in zip(pairs, found.tolist(), strict=True):
            best[image] = max(best.get(image, 0.0), score)
    return {image: (score - baseline) / (1 - baseline) for image, score in best.items()}


def _baseline(config: BertScoreConfig) -> float:
    """Return the F1 of unrelated sentences at the layer, from a file of bert-score; 0 without one."""
    if config.baseline_path is None:
        return 0.0
    try:
        with Path(config.baseline_path).open(newline="") as file:
            rows = {int(row["LAYER"]): float(row["F"]) for row in csv.DictReader(file)}
        return rows[config.num_layers]
    except (OSError, KeyError, ValueError) as error:
        raise UserError(
            f"bertscore.baseline_path={config.baseline_path} is no baseline of bert-score with a row for"
            f" layer {config.num_layers} ({type(error).__name__}: {error})"
        ) from None
