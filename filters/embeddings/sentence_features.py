"""Caption features of a sentence transformer (Reimers & Gurevych 2019), as DS-CLIP clusters them for its Table 2a."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Batch
from benchmark.core.devices import Device
from benchmark.core.ranges import PositiveInt, checked
from benchmark.models.checkpoints import FromCheckpoint, load_model, load_pretrained
from filters.base import Features

CHUNK = 64


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

        order = sorted(range(len(batch)), key=lambda row: len(batch.texts[row]))
        vectors = np.empty((len(batch), self._model.config.hidden_size), np.float32)
        for start in range(0, len(order), CHUNK):
            rows = order[start : start + CHUNK]
            tokens = self._tokenizer(
                [batch.texts[row] for row in rows],
                padding=True,
                truncation=True,
                max_length=self.max_tokens,
                return_tensors="pt",
            ).to(self._model.device)
            with torch.inference_mode():
                states = self._model(**tokens).last_hidden_state
                mask = tokens["attention_mask"].unsqueeze(-1)
                means = (states * mask).sum(1) / mask.sum(1)
                vectors[rows] = torch.nn.functional.normalize(means, dim=-1).cpu().numpy()
        return {"text": vectors}
