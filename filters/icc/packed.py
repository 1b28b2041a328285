"""A RoBERTa scorer's forward pass without padding: the captions of a pass lie end to end in one row of tokens."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention

FAMILIES = frozenset({"roberta", "xlm-roberta", "camembert"})  # of one make, under three names


class PackedScorer:
    """Runs a `RobertaForSequenceClassification` of one label on captions sorted by length.

    Linear layers and norms see no padding and no caption's border. Attention takes the captions of one length at a
    time, so it needs no mask. The head reads the first token alone, so the last layer computes only that one.

    Args:
        model: in fp32, on its device; its blocks are taken over.
        dtype: of the blocks' matrix products and attention. Sums, norms and the head stay in fp32: with all of it
            in bf16 the scores' order is several times as far off.
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
        """Return the logits, shape (n,), of `captions`: token ids, shorter ones first."""
        groups = [(len(list(same)), length) for length, same in groupby(map(len, captions))]
        tokens = self._to_device(torch.tensor(list(chain.from_iterable(captions))))
        lengths = self._to_device(torch.tensor([len(c) for c in captions]))
        first = lengths.cumsum(0) - lengths
        hidden = self._embeddings(tokens[None], position_ids=self._positions(tokens, groups)[None])[0]
        for block in self._blocks:
            own = block.attention.self
            queried = hidden[first] if block is self._blocks[-1] else hidden
            inputs = hidden.to(self._dtype)
            asking = inputs[first] if block is self._blocks[-1] else inputs
            mixed = attend(own.query(asking), own.key(inputs), own.value(inputs), groups, self._heads)
            hidden = block.attention.output(mixed, queried)
            hidden = block.output(block.intermediate(hidden.to(self._dtype)), hidden)
        logits: torch.Tensor = self._head(hidden[:, None])[:, 0]
        return logits

    def _positions(self, tokens: torch.Tensor, groups: Sequence[tuple[int, int]]) -> torch.Tensor:
        """Return positions, shape (t,), counted behind the padding index; a padding token in a caption has that."""
        parts = []
        for (count, length), part in zip(groups, tokens.split([n * size for n, size in groups]), strict=True):
            real = part.view(count, length).ne(self._padding).long()
            parts.append((real.cumsum(1) * real + self._padding).flatten())
        return torch.cat(parts)

    def _to_device(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._device.type == "cuda":  # pinned, so that the copy waits for no kernel
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    groups: Sequence[tuple[int, int]],
    heads: int,
) -> torch.Tensor:
    """Let each caption attend to itself alone.

    `key` and `value` are (t, width), `query` the same or one row a caption; `groups` are (captions, tokens of each)
    in their order. Returns the shape of `query`.
    """
    sizes = [count * length for count, length in groups]
    asked = sizes if len(query) == len(key) else [count for count, _ in groups]
    mixed = []
    for (count, _), *parts in zip(
        groups, query.split(asked), key.split(sizes), value.split(sizes), strict=True
    ):
        q, k, v = (p.view(count, -1, heads, p.shape[1] // heads).transpose(1, 2) for p in parts)
        mixed.append(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).flatten(0, 1))
    return torch.cat(mixed)


def token_budget_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield row numbers, shorter captions first, in batches of at most `budget` tokens.

    A caption longer than the budget is a batch of its own.
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
