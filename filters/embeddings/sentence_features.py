"""Caption features of a sentence transformer (Reimers & Gurevych 2019), as DS-CLIP clusters them for its Table 2a."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.ranges import PositiveInt, checked
from benchmark.models.checkpoints import FromCheckpoint, load_model, load_pretrained
from benchmark.models.token_batches import token_batches
from filters.base import Features


@checked
class SentenceFeatures(FromCheckpoint, Features):
    """L2-normalised means over the outputs of a caption's tokens, the pooling of most sentence transformers.

    Args:
        checkpoint: hub name or folder of a text encoder with its tokenizer.
        max_tokens: length at which captions are cut.
    """

    needs = frozenset({"text"})

    def __init__(self, checkpoint: str, max_tokens: PositiveInt) -> None:
        self.checkpoint = checkpoint
        self.max_tokens = max_tokens
        self._tokenizer: Any = None
        self._model: Any = None

    def setup(self, device: Device) -> None:
        """Load model and tokenizer. Raises `UserError` if they are missing or do not fit."""
        self._tokenizer = load_pretrained("AutoTokenizer", self.checkpoint)
        self._model = load_model("AutoModel", self.checkpoint, ("pooler",)).to(device).eval()

    def extract(self, batch: Batch) -> Mapping[str, npt.NDArray[np.float32]]:
        """Return ``text``, of shape (n, d)."""
        import torch

        options: dict[str, Any] = {"truncation": True, "max_length": self.max_tokens}
        lengths = [len(ids) for ids in self._tokenizer(batch.texts, **options)["input_ids"]]
        parts = list(token_batches(lengths, self._model.device))
        means = []
        with torch.inference_mode():
            for rows in parts:
                texts = [batch.texts[row] for row in rows]
                tokens = self._tokenizer(texts, padding=True, return_tensors="pt", **options)
                tokens = tokens.to(self._model.device)
                states = self._model(**tokens).last_hidden_state
                mask = tokens["attention_mask"].unsqueeze(-1)
                means.append((states * mask).sum(1) / mask.sum(1))
            sorted_vectors = torch.nn.functional.normalize(torch.cat(means), dim=-1).cpu().numpy()
        vectors = np.empty_like(sorted_vectors)
        vectors[[*chain(*parts)]] = sorted_vectors
        return {"text": vectors}
