"""Masked language modelling (Devlin et al. 2019, section 3.1): masking for training, and accuracy on masked words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tools.scale_models.data import HELD_OUT, captions
from tools.scale_models.loop import Tensors

WINDOW = 50  # number of batches to sort by length together
IGNORED = -100  # label that torch's cross-entropy ignores


def mask(batch: Any, tokenizer: Any, generator: torch.Generator) -> dict[str, Tensor]:
    """Return `batch` with 15% of its tokens chosen as targets: 80% of them masked, 10% replaced, 10% unchanged.

    `labels` (n, length) holds the original token of each target and `IGNORED` elsewhere.
    """
    ids = batch["input_ids"]
    special = torch.isin(ids, torch.tensor(tokenizer.all_special_ids))
    chosen = (torch.rand(ids.shape, generator=generator) < 0.15) & ~special
    treatment = torch.rand(ids.shape, generator=generator)
    random = torch.randint(len(tokenizer), ids.shape, generator=generator)
    masked = ids.masked_fill(chosen & (treatment < 0.8), tokenizer.mask_token_id)
    masked = torch.where(chosen & (treatment >= 0.9), random, masked)
    return {**batch, "input_ids": masked, "labels": ids.masked_fill(~chosen, IGNORED)}


@torch.no_grad()
def evaluate(folder: Path, samples: int, seed: int) -> dict[str, float]:
    """Return the accuracy of the model in `folder` on masked tokens of `samples` held-out captions of all kinds."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    model = AutoModelForMaskedLM.from_pretrained(folder, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    texts = captions("models", samples, seed, HELD_OUT)
    batch = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
    batch = mask(batch, tokenizer, torch.Generator().manual_seed(seed))
    labels = batch.pop("labels")
    predictions = torch.cat([model(**part).logits.argmax(-1) for part in _split(batch, 64)])
    targets = labels != IGNORED
    return {"masked_word_accuracy": (predictions[targets] == labels[targets]).float().mean().item()}


def _split(batch: Tensors, size: int) -> Iterator[dict[str, Tensor]]:
    for start in range(0, len(batch["input_ids"]), size):
        yield {name: tensor[start : start + size] for name, tensor in batch.items()}
