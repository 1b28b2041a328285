"""Distillation of scores into a small text encoder with one logit (ICC paper, section 2, appendix A.2)."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from benchmark.core.errors import UserError
from benchmark.core.paths import atomic_folder
from benchmark.models.checkpoints import locate_checkpoint, quiet_transformers
from filters.icc.packed import FAMILIES
from filters.icc.training import Recipe, train

Item = tuple[str, float]


class Regression(nn.Module):
    """A sequence classifier of one label, trained with mean squared error."""

    def __init__(self, classifier: Any) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, targets: Tensor, **inputs: Tensor) -> dict[str, Tensor]:
        """Return the mean squared error against `targets` of shape (n,)."""
        logits = self.classifier(**inputs).logits[:, 0]
        return {"loss": nn.functional.mse_loss(logits.float(), targets)}


def distill(
    captions: Sequence[str],
    targets: npt.NDArray[np.float32],
    base: str,
    recipe: Recipe,
    folder: Path,
    device: torch.device,
) -> dict[str, float]:
    """Train `base` to predict `targets` from `captions`; write it to ``folder/model`` and return its last loss.

    The output is a sequence-classification checkpoint in the format of the released scorer: `filter=icc
    filter.checkpoint=FOLDER/model` loads it, and so does transformers.

    Args:
        captions: n texts.
        targets: target scores of shape (n,).
        base: hub name or folder of the text encoder; the paper's is distilroberta-base.
        recipe: training recipe.
        folder: output folder, also for checkpoints.
        device: device to train on.

    Raises:
        UserError: when `base` is not a RoBERTa.
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    path = locate_checkpoint(base)
    _check(base, AutoConfig.from_pretrained(path, local_files_only=True).model_type)
    tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
    with torch.random.fork_rng(), quiet_transformers():
        torch.manual_seed(recipe.seed)  # the head is new
        classifier = AutoModelForSequenceClassification.from_pretrained(
            path, num_labels=1, problem_type="regression", dtype=torch.float32, local_files_only=True
        )
    items = list(zip(captions, targets.tolist(), strict=True))
    checkpoints = folder / "checkpoints"
    loss = train(
        Regression(classifier),
        items,
        _Collate(tokenizer),
        recipe,
        checkpoints,
        device,
        f"distill {folder.parent.name}",
    )
    with atomic_folder(folder / "model") as temporary, quiet_transformers():
        classifier.to("cpu").save_pretrained(temporary)
        tokenizer.save_pretrained(temporary)
    shutil.rmtree(checkpoints, ignore_errors=True)
    return {"loss": loss}


def _check(base: str, model_type: str) -> None:
    if model_type not in FAMILIES:
        raise UserError(f"models.icc.base={base} must be a RoBERTa, not {model_type}")


class _Collate:
    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, items: list[Item]) -> dict[str, Tensor]:
        texts, targets = zip(*items, strict=True)
        inputs = self.tokenizer(list(texts), truncation=True, padding=True, return_tensors="pt")
        return {**inputs, "targets": torch.tensor(targets)}
