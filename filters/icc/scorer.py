"""The distilled concreteness scorer: a text encoder with one logit (ICC paper, section 2; `moranyanuka/icc`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from benchmark.core.batch import Batch
from benchmark.core.devices import Device, default_precision, has_gpu
from benchmark.core.errors import UserError
from benchmark.core.prefetch import prefetch_map
from benchmark.core.ranges import Precision, checked
from benchmark.models.checkpoints import FromCheckpoint, load_pretrained
from filters.base import Filter, Scores

if TYPE_CHECKING:
    import numpy.typing as npt

    from filters.icc.packed import LogitModel, PackedCaptions

BLOCK = 4096  # captions tokenised at a time, which bounds memory


@checked
class DistilledScorer(FromCheckpoint, Filter):
    """Scores captions with a one-label sequence classifier; the score is its logit.

    Args:
        checkpoint: hub name or folder, in the released scorer's format.
        precision: ``fp32``; ``bf16``, with matrix products in half precision, several times as fast; or ``auto``:
            bf16 with a GPU that computes it, else fp32.
    """

    needs = frozenset({"text"})
    batch_size: ClassVar[int] = 16 * BLOCK

    def __init__(self, checkpoint: str, precision: Precision = "auto") -> None:
        self.checkpoint = checkpoint
        if precision == "auto":  # resolved here and not in setup, because it is in the cache key
            precision = default_precision("cuda" if has_gpu() else "cpu")
        self.precision = precision
        self._model: LogitModel | None = None
        self._tokenizer: Any = None
        self._budget = 0
        self._threads = 1

    def setup(self, device: Device) -> None:
        """Load model and tokenizer. Raises `UserError` unless the checkpoint has one label.

        RoBERTa, as released, needs no padding; other text encoders (BERT, DistilBERT, ...) are padded.
        """
        from filters.icc.packed import FAMILIES, load_logit_model

        config = load_pretrained("AutoConfig", self.checkpoint)
        if config.num_labels != 1:
            raise UserError(
                f"filter.checkpoint={self.checkpoint} must have one label, not {config.num_labels}"
            )
        self._model = load_logit_model(self.checkpoint, config, device, self.precision)
        tokenizer = load_pretrained("AutoTokenizer", self.checkpoint)
        # RoBERTa's position ids start after the padding index.
        first = int(config.pad_token_id) + 1 if config.model_type in FAMILIES else 0
        max_length = min(int(tokenizer.model_max_length), int(config.max_position_embeddings) - first)
        self._tokenizer = tokenizer.backend_tokenizer  # twice as fast without masks and type ids
        self._tokenizer.enable_truncation(max_length)
        self._tokenizer.no_padding()
        # On two CPU cores the activations of 2,048 tokens fit into the caches; a GPU needs large batches, and several
        # threads that tokenise for it.
        gpu = device.type == "cuda"
        self._budget = 65536 if gpu else 2048
        self._threads = min(8, os.cpu_count() or 1) if gpu else 1

    def score(self, batch: Batch) -> Scores:
        """Return logits of shape (n,); captions are truncated to the model's length."""
        import torch

        assert self._model is not None, "setup comes before score"
        if not len(batch):
            return np.empty(0, np.float32)
        characters = np.fromiter(map(len, batch.texts), np.int64, len(batch))
        order = np.argsort(characters, kind="stable")  # so a block's captions have similar lengths
        blocks = [order[start : start + BLOCK] for start in range(0, len(order), BLOCK)]
        texts = ([batch.texts[row] for row in block] for block in blocks)
        rows, logits = [], []
        for block, (by_length, captions) in zip(
            blocks, prefetch_map(self._tokenize, texts, self._threads), strict=True
        ):
            rows.append(block[by_length])
            logits.append(self._model.logits(captions, self._budget))
        scores = np.empty(len(batch), np.float32)
        # Copied once, at the end: a GPU would wait at each block for the captions of the next.
        scores[np.concatenate(rows)] = torch.cat(logits).cpu().numpy()
        return scores

    def _tokenize(self, texts: list[str]) -> tuple[npt.NDArray[np.int64], PackedCaptions]:
        from filters.icc.packed import pack

        return pack([encoding.ids for encoding in self._tokenizer.encode_batch_fast(texts)])
