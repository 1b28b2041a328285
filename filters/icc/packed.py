"""A RoBERTa scorer's forward pass without padding: the captions of a batch are concatenated into one sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import layer_norm, linear, scaled_dot_product_attention

from filters.icc.packing import Integers, PackedCaptions


class PackedScorer:
    """Computes what a `RobertaForSequenceClassification` of one label does.

    Linear layers and norms act on single tokens. Attention runs on the captions of one length at a time, so it needs
    no mask. The head reads only the first token, so the last layer computes only that one.

    Args:
        weights: the model's weights by name.
        config: the model's configuration.
        device: device to compute on.
        dtype: data type of the layers' matrix products and attention. Residuals, norms and the head stay in fp32:
            entirely in bf16, the ranking deviates several times as much.
    """

    def __init__(
        self, weights: Mapping[str, torch.Tensor], config: Any, device: torch.device, dtype: torch.dtype
    ) -> None:
        self._weights = {
            name: weight.to(device, dtype if ".layer." in name and "LayerNorm" not in name else torch.float32)
            for name, weight in weights.items()
        }
        self._layers = int(config.num_hidden_layers)
        self._heads = int(config.num_attention_heads)
        self._epsilon = float(config.layer_norm_eps)
        self._padding = int(config.pad_token_id)
        self._device = device
        self._dtype = dtype

    def __call__(self, captions: PackedCaptions) -> torch.Tensor:
        """Return logits of shape (n,) for n captions."""
        groups = captions.groups()
        first_tokens = self._to_device(captions.starts())
        hidden = self._embed(captions)
        for layer in range(self._layers):
            is_last = layer == self._layers - 1
            name = f"roberta.encoder.layer.{layer}"
            hidden = self._layer(name, hidden, first_tokens if is_last else None, groups)
        pooled = torch.tanh(self._linear("classifier.dense", hidden))
        return self._linear("classifier.out_proj", pooled)[:, 0]

    def _embed(self, captions: PackedCaptions) -> torch.Tensor:
        """Return the embedding of each token, shape (t, width)."""
        words, token_types, positions = (
            self._weights[f"roberta.embeddings.{kind}_embeddings.weight"]
            for kind in ("word", "token_type", "position")
        )
        hidden = words[self._to_device(captions.ids)] + token_types[0]
        hidden = hidden + positions[self._to_device(position_ids(captions, self._padding))]
        return self._norm("roberta.embeddings", hidden)

    def _layer(
        self, name: str, hidden: torch.Tensor, rows: torch.Tensor | None, groups: Sequence[tuple[int, int]]
    ) -> torch.Tensor:
        """Return the output of a layer, of all tokens or of those at `rows`, one per caption."""
        inputs = hidden.to(self._dtype)
        residual, query_input = (hidden, inputs) if rows is None else (hidden[rows], inputs[rows])
        query = self._linear(f"{name}.attention.self.query", query_input)
        key, value = (self._linear(f"{name}.attention.self.{kind}", inputs) for kind in ("key", "value"))
        attended = attend(query, key, value, groups, self._heads)
        hidden = self._linear(f"{name}.attention.output.dense", attended) + residual
        hidden = self._norm(f"{name}.attention.output", hidden)
        intermediate = self._linear(f"{name}.intermediate.dense", hidden.to(self._dtype))
        # In place: the pages of so large a new tensor would cost 3% of a CPU's time.
        torch.ops.aten.gelu_(intermediate)
        return self._norm(f"{name}.output", self._linear(f"{name}.output.dense", intermediate) + hidden)

    def _linear(self, name: str, inputs: torch.Tensor) -> torch.Tensor:
        return linear(inputs, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"])

    def _norm(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        weight, bias = (self._weights[f"{name}.LayerNorm.{kind}"] for kind in ("weight", "bias"))
        return layer_norm(hidden, weight.shape, weight, bias, self._epsilon)

    def _to_device(self, indices: Integers) -> torch.Tensor:
        tensor = torch.from_numpy(indices)
        if self._device.type == "cuda":  # pinned, so that the copy is asynchronous
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor


def position_ids(captions: PackedCaptions, padding: int) -> Integers:
    """Return position ids of shape (t,), counted from the padding index + 1; padding tokens get that index."""
    is_word = captions.ids != padding
    words = is_word.cumsum()
    words_before = np.repeat((words - is_word)[captions.starts()], captions.lengths)
    return np.where(is_word, words - words_before, 0) + padding


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[tuple[int, int]],
    heads: int,
) -> torch.Tensor:
    """Return self-attention within each caption, in the shape of `query`.

    Args:
        query: shape (t, width), or (captions, width) with one row per caption.
        key: shape (t, width).
        value: shape (t, width).
        groups: pairs (captions, tokens per caption), in the order of the tokens.
        heads: number of attention heads.
    """
    sizes = [count * length for count, length in groups]
    query_sizes = sizes if len(query) == len(key) else [count for count, _ in groups]
    attended = []
    for (count, _), *parts in zip(
        groups, query.split(query_sizes), key.split(sizes), value.split(sizes), strict=True
    ):
        q, k, v = (p.view(count, -1, heads, p.shape[1] // heads).transpose(1, 2) for p in parts)
        attended.append(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).flatten(0, 1))
    return torch.cat(attended)
