"""A RoBERTa scorer's forward pass without padding: the captions of a batch are concatenated into one sequence."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention


class PackedScorer:
    """Runs a `RobertaForSequenceClassification` of one label on captions sorted by length.

    Linear layers and norms act on single tokens. Attention runs on the captions of one length at a time, so it needs
    no mask. The head reads only the first token, so the last layer computes only that one.

    Args:
        model: fp32 model on its device; its blocks are converted in place.
        dtype: data type of the blocks' matrix products and attention. Residuals, norms and the head stay in fp32:
            entirely in bf16, the ranking deviates several times as much.
    """

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        encoder = model.base_model
        self._embeddings = encoder.embeddings
        self._blocks = list(encoder.encoder.layer)
        self._head = model.classifier
        self._heads = int(model.config.num_attention_heads)
        self._padding = int(model.config.pad_token_id)
        self._device = model.device
        self._dtype = dtype
        for block in self._blocks:
            for module in block.modules():
                if isinstance(module, torch.nn.Linear):
                    module.to(dtype)

    def __call__(self, captions: Sequence[Sequence[int]]) -> torch.Tensor:
        """Return logits of shape (n,) for n captions, given as token ids and sorted by length."""
        groups = [(len(list(same)), length) for length, same in groupby(map(len, captions))]
        tokens = self._to_device(torch.tensor(list(chain.from_iterable(captions))))
        lengths = self._to_device(torch.tensor([len(c) for c in captions]))
        first = lengths.cumsum(0) - lengths
        hidden = self._embeddings(tokens[None], position_ids=self._positions(tokens, groups)[None])[0]
        for block in self._blocks:
            attention = block.attention.self
            is_last = block is self._blocks[-1]
            residual = hidden[first] if is_last else hidden
            inputs = hidden.to(self._dtype)
            query_input = inputs[first] if is_last else inputs
            attended = attend(
                attention.query(query_input),
                attention.key(inputs),
                attention.value(inputs),
                groups,
                self._heads,
            )
            hidden = block.attention.output(attended, residual)
            hidden = block.output(block.intermediate(hidden.to(self._dtype)), hidden)
        logits: torch.Tensor = self._head(hidden[:, None])[:, 0]
        return logits

    def _positions(self, tokens: torch.Tensor, groups: Sequence[tuple[int, int]]) -> torch.Tensor:
        """Return position ids of shape (t,), counted from the padding index + 1; padding tokens get that index."""
        parts = []
        for (count, length), part in zip(groups, tokens.split([n * size for n, size in groups]), strict=True):
            mask = part.view(count, length).ne(self._padding).long()
            parts.append((mask.cumsum(1) * mask + self._padding).flatten())
        return torch.cat(parts)

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._device.type == "cuda":  # pinned, so that the copy is asynchronous
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor


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


def token_budget_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield batches of row indices, sorted by length, of at most `budget` tokens.

    A caption longer than the budget gets its own batch.
    """
    rows: list[int] = []
    total = 0
    for row in sorted(range(len(lengths)), key=lambda r: (lengths[r], r)):
        if rows and total + lengths[row] > budget:
            yield rows
            rows, total = [], 0
        rows.append(row)
        total += lengths[row]
    if rows:
        yield rows
