"""The distilled concreteness scorer: a text encoder with one logit (ICC paper, section 2; `moranyanuka/icc`)."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from benchmark.core.batch import Batch
from benchmark.core.errors import UserError
from benchmark.models.checkpoints import locate_checkpoint, quiet_transformers, revision
from filters.base import Filter, Scores
from filters.icc.packed import FAMILIES, PackedScorer, token_budget_batches

Given = TypeVar("Given")
Made = TypeVar("Made")
PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16}
BLOCK = 4096  # captions tokenised at a time: their tokens are all of it that memory holds


class DistilledScorer(Filter):
    """Score captions with a sequence-classification checkpoint of one label; its logit is used as it comes.

    Args:
        checkpoint: hub name or folder, in the released scorer's format.
        precision: ``fp32``; ``bf16``, whose matrix products are in half precision, several times as fast; or
            ``auto``, bf16 where there is a GPU.
        token_budget: tokens of one forward pass; by default what suits the device.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 16 * BLOCK

    def __init__(self, checkpoint: str, precision: str = "auto", token_budget: int | None = None) -> None:
        if precision not in {"auto", *PRECISIONS}:
            raise UserError(f"filter.precision={precision} is not known; use auto, fp32 or bf16")
        self.checkpoint = checkpoint
        if precision == "auto":  # settled here, not on the device: cached scores are known by it
            precision = "bf16" if torch.cuda.is_available() else "fp32"
        self.precision = precision
        self.token_budget = token_budget
        self._model: Any = None
        self._tokenizer: Any = None
        self._budget = 0
        self._threads = 1

    def identity(self) -> dict[str, Any]:
        """Add the checkpoint's revision. The token budget changes no score."""
        identity = super().identity()
        del identity["token_budget"]
        return identity | {"revision": revision(locate_checkpoint(self.checkpoint))}

    def setup(self, device: torch.device) -> None:
        """Load model and tokenizer. Raises `UserError` when the checkpoint is no one-logit RoBERTa."""
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        folder = locate_checkpoint(self.checkpoint)
        with quiet_transformers():
            model = AutoModelForSequenceClassification.from_pretrained(
                folder, dtype=torch.float32, local_files_only=True
            )
        _check(self.checkpoint, model.config)
        self._model = PackedScorer(model.to(device).eval(), PRECISIONS[self.precision])
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._tokenizer = tokenizer.backend_tokenizer  # without the lists of masks and types, twice as fast
        self._tokenizer.enable_truncation(_max_length(tokenizer, model.config))
        self._tokenizer.no_padding()
        # On two cores the activations of 2,048 tokens stay in the cache; a GPU wants work for all its cores, and
        # takes the captions of several tokenising threads.
        gpu = device.type == "cuda"
        self._budget = self.token_budget or (65536 if gpu else 2048)
        self._threads = min(8, os.cpu_count() or 1) if gpu else 1

    @torch.inference_mode()
    def score(self, batch: Batch) -> Scores:
        """Return one logit a caption, shape (n,); captions beyond the model's length are truncated."""
        scores = np.empty(len(batch), np.float32)
        order = sorted(
            range(len(batch)), key=lambda r: len(batch.texts[r])
        )  # so a block's captions are alike
        blocks = [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]
        texts = ([batch.texts[row] for row in block] for block in blocks)
        for block, tokens in zip(blocks, ahead(self._tokenize, texts, self._threads), strict=True):
            passes = list(token_budget_batches([len(t) for t in tokens], self._budget))
            logits = torch.cat([self._model([tokens[r] for r in rows]) for rows in passes])
            scores[[block[r] for rows in passes for r in rows]] = logits.float().cpu().numpy()
        return scores

    def _tokenize(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)]


def ahead(work: Callable[[Given], Made], items: Iterator[Given], threads: int) -> Iterator[Made]:
    """Yield ``work(item)`` of each item in order, while `threads` threads are at the items after it, no further."""
    with ThreadPoolExecutor(threads) as pool:
        waiting = deque[Future[Made]]()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _check(checkpoint: str, config: Any) -> None:
    if config.model_type not in FAMILIES:
        raise UserError(
            f"checkpoint {checkpoint} is a {config.model_type}; the concreteness scorer is a RoBERTa"
        )
    if config.num_labels != 1:
        raise UserError(
            f"checkpoint {checkpoint} has {config.num_labels} labels; a concreteness scorer has one logit"
        )


def _max_length(tokenizer: Any, config: Any) -> int:
    """Return the tokenizer's length, or the model's where the tokenizer names none."""
    first = int(config.pad_token_id) + 1  # positions start behind the padding's
    return min(int(tokenizer.model_max_length), int(config.max_position_embeddings) - first)
