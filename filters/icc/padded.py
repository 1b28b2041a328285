"""A scorer's forward pass with padding, for text encoders that `PackedScorer` does not know."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence


class PaddedScorer:
    """Runs any sequence classifier of one label.

    Args:
        model: fp32 model on its device.
        dtype: data type of matrix products.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        self._model = model
        self._dtype = dtype

    def __call__(self, captions: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return logits of shape (n,) for n captions, given as token ids."""
        device = self._model.device
        rows = [torch.tensor(caption) for caption in captions]
        tokens = pad_sequence(rows, batch_first=True, padding_value=int(self._model.config.pad_token_id or 0))
        lengths = torch.tensor([len(caption) for caption in captions])
        mask = (torch.arange(tokens.shape[1])[None] < lengths[:, None]).long()
        with torch.autocast(device.type, self._dtype, enabled=self._dtype != torch.float32):
            logits: torch.Tensor = self._model(tokens.to(device), attention_mask=mask.to(device)).logits
        return logits[:, 0]
