"""BERTScore F1 (Zhang et al. 2019) with bert-score's matching and any encoder of the hub or of a folder."""

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.checkpoints import locate_checkpoint
from benchmark.errors import UserError
from downstream.base import quiet_transformers
from downstream.metrics.metric import Corpus, ImageId, UnavailableError

# Embeddings are kept for so many images at a time: all 30,000 captions of COCO would take 2 GB.
IMAGES_AT_ONCE = 256
BATCH = 64


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
    encoder, tokenizer = _load(config.locate(), config.num_layers, device)
    baseline = _baseline(config)
    images = list(corpus.candidates)
    best: dict[ImageId, float] = {}
    for start in range(0, len(images), IMAGES_AT_ONCE):
        part = images[start : start + IMAGES_AT_ONCE]
        pairs = [
            (image, corpus.candidates[image].strip(), reference.strip())
            for image in part
            for reference in corpus.references[image]
        ]
        # bert-score crashes on an empty text with transformers 5, so those never reach it.
        pairs = [pair for pair in pairs if pair[1] and pair[2]]
        best |= dict.fromkeys(part, 0.0)
        for (image, _, _), score in zip(pairs, _f1(pairs, encoder, tokenizer, device), strict=True):
            best[image] = max(best[image], score)
    return {image: (score - baseline) / (1 - baseline) for image, score in best.items()}


def _f1(
    pairs: list[tuple[ImageId, str, str]], encoder: Any, tokenizer: Any, device: torch.device
) -> list[float]:
    from bert_score.utils import bert_cos_score_idf

    if not pairs:
        return []
    _, candidates, references = zip(*pairs, strict=True)
    weights = defaultdict(lambda: 1.0, {tokenizer.cls_token_id: 0.0, tokenizer.sep_token_id: 0.0})
    scores = bert_cos_score_idf(
        encoder,
        list(references),
        list(candidates),
        tokenizer,
        weights,
        batch_size=BATCH,
        device=device,
    )
    return [float(score) for score in scores[:, 2]]


def _load(folder: Path, layers: int, device: torch.device) -> tuple[Any, Any]:
    """Return the encoder cut after `layers` layers, and its tokenizer.

    bert-score's own loader takes any path with "t5" in it for a T5, and needs a table for the layers.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    config = AutoConfig.from_pretrained(folder)
    if not 0 < layers <= config.num_hidden_layers:
        raise UserError(f"bertscore.num_layers={layers}, but {folder} has {config.num_hidden_layers} layers")
    with quiet_transformers():  # it would list every weight of the layers that are cut off
        encoder, report = AutoModel.from_pretrained(
            folder, num_hidden_layers=layers, dtype=torch.float32, output_loading_info=True
        )
    missing = [key for key in report["missing_keys"] if not key.startswith("pooler.")]
    if missing:  # they are random now
        raise UserError(f"{folder} lacks {len(missing)} weights of its encoder, e.g. {min(missing)}")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    # A tokenizer saved without its length says 10^30, and a long caption then overruns the positions.
    # RoBERTa's first position is that after its padding token.
    first = config.pad_token_id + 1 if "roberta" in config.model_type else 0
    tokenizer.model_max_length = min(tokenizer.model_max_length, config.max_position_embeddings - first)
    return encoder.eval().to(device), tokenizer


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
