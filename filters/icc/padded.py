"""A scorer's forward pass with padding, for text encoders that `PackedScorer` does not know."""

from typing import Any

import numpy as np
import torch

from filters.icc.packing import PackedCaptions


class PaddedScorer:
    """Runs any sequence classifier of one label.

    Args:
        model: fp32 model on its device.
        dtype: data type of matrix products.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        self._model = model
        self._dtype = dtype

    def __call__(self, captions: PackedCaptions) -> torch.Tensor:
        """Return logits of shape (n,) for n captions."""
        device = self._model.device
        mask = np.arange(captions.lengths.max()) < captions.lengths[:, None]
        tokens = np.full(mask.shape, int(self._model.config.pad_token_id or 0))
        tokens[mask] = captions.ids
        inputs = {"input_ids": tokens, "attention_mask": mask.astype(np.int64)}
        on_device = {name: torch.from_numpy(array).to(device) for name, array in inputs.items()}
        with torch.autocast(device.type, self._dtype, enabled=self._dtype != torch.float32):
            logits: torch.Tensor = self._model(**on_device).logits
        return logits[:, 0]
