"""The distilled concreteness scorer: a text encoder with one logit (ICC paper, section 2; `moranyanuka/icc`)."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from benchmark.batch import Batch
from benchmark.checkpoints import locate_checkpoint, revision
from benchmark.errors import UserError
from filters.base import Filter, Scores


class DistilledScorer(Filter):
    """Score captions with a sequence-classification checkpoint of one label; its logit is used as it comes.

    Args:
        checkpoint: hub name or folder, in the released scorer's format.
        token_budget: tokens of one forward pass, padding included.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 8192  # sorted by length as a whole: the larger, the less padding

    def __init__(self, checkpoint: str, token_budget: int = 8192) -> None:
        self.checkpoint = checkpoint
        self.token_budget = token_budget
        self._model: Any = None
        self._tokenizer: Any = None
        self._device = torch.device("cpu")

    def identity(self) -> dict[str, Any]:
        """Add the checkpoint's revision. The token budget changes no score."""
        identity = super().identity()
        del identity["token_budget"]
        return identity | {"revision": revision(locate_checkpoint(self.checkpoint))}

    def setup(self, device: torch.device) -> None:
        """Load model and tokenizer. Raises `UserError` when the checkpoint is no one-logit scorer."""
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        folder = locate_checkpoint(self.checkpoint)
        dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=dtype, local_files_only=True)
        if model.config.num_labels != 1:
            labels = model.config.num_labels
            raise UserError(
                f"checkpoint {self.checkpoint} has {labels} labels; a concreteness scorer has one logit"
            )
        self._model = model.to(device).eval()
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._device = device

    @torch.inference_mode()
    def score(self, batch: Batch) -> Scores:
        """Return one logit a caption, shape (n,); captions beyond the model's length are truncated."""
        tokens = self._tokenizer(batch.texts, truncation=True, max_length=self._max_length())["input_ids"]
        scores = np.empty(len(batch), np.float32)
        for rows in token_budget_batches([len(t) for t in tokens], self.token_budget):
            inputs = self._tokenizer.pad({"input_ids": [tokens[r] for r in rows]}, return_tensors="pt")
            logits = self._model(**inputs.to(self._device)).logits
            scores[rows] = logits[:, 0].float().cpu().numpy()
        return scores

    def _max_length(self) -> int:
        """Return the tokenizer's length, or the model's where the tokenizer names none."""
        positions = int(self._model.config.max_position_embeddings)
        if self._model.config.model_type in {"roberta", "xlm-roberta", "camembert"}:
            positions -= self._model.config.pad_token_id + 1  # their positions start behind the padding index
        return min(int(self._tokenizer.model_max_length), positions)


def token_budget_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield row numbers in batches of like length, so that rows x longest stays within `budget`.

    A caption longer than the budget is a batch of its own.
    """
    rows: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda r: (lengths[r], r)):
        if rows and (len(rows) + 1) * lengths[row] > budget:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows
