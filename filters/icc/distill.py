"""Distillation of scores into a small text encoder with one logit (ICC paper, section 2, appendix A.2)."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from benchmark.core.launch import is_main_process
from benchmark.core.paths import atomic_folder
from benchmark.models.checkpoints import load_model, load_pretrained, quiet_transformers
from filters.icc.training import IGNORED, Recipe, train

Item = tuple[str, float]
HEAD = ("classifier",)  # what the weights of RoBERTa's head have in their names


class Regression(nn.Module):
    """A sequence classifier of one label, trained with mean squared error."""

    accepts_loss_kwargs = True  # tells the Trainer to pass `num_items_in_batch`

    def __init__(self, classifier: Any) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(
        self, labels: Tensor, num_items_in_batch: Tensor | None = None, **inputs: Tensor
    ) -> dict[str, Tensor]:
        """Return the mean squared error against `labels` of shape (n,), over `num_items_in_batch` labels if given."""
        counted = labels != IGNORED
        errors = (self.classifier(**inputs).logits[:, 0].float() - labels)[counted] ** 2
        return {"loss": errors.mean() if num_items_in_batch is None else errors.sum() / num_items_in_batch}


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
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = load_pretrained(AutoTokenizer, base)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)  # the head is new
        classifier = load_model(
            AutoModelForSequenceClassification,
            base,
            HEAD,
            num_labels=1,
            problem_type="regression",
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
    if is_main_process():
        with atomic_folder(folder / "model") as temporary, quiet_transformers():
            classifier.to("cpu").save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
        shutil.rmtree(checkpoints, ignore_errors=True)
    return {"loss": loss}


class _Collate:
    """Tokenises captions and their targets; None is a row without loss."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, items: list[Item | None]) -> dict[str, Tensor]:
        texts, targets = zip(*(item or ("", IGNORED) for item in items), strict=True)
        inputs = self.tokenizer(list(texts), truncation=True, padding=True, return_tensors="pt")
        return {**inputs, "labels": torch.tensor(targets, dtype=torch.float32)}
