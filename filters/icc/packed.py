"""Forward passes of a distilled scorer: RoBERTa without padding, any other text encoder with padding."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn.functional import layer_norm, linear, scaled_dot_product_attention

from benchmark.models.checkpoints import load_model, locate_checkpoint, read_weights

Attention = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]  # of query, key and value
FAMILIES = frozenset({"roberta", "xlm-roberta", "camembert"})  # RoBERTa's architecture under three names


@dataclass(frozen=True)
class PackedCaptions:
    """Token ids of n captions in ascending order of length, t in all."""

    ids: npt.NDArray[np.int64]  # token ids of all captions, shape (t,)
    lengths: npt.NDArray[np.int64]  # tokens per caption, shape (n,)

    def starts(self) -> npt.NDArray[np.int64]:
        """Return the index of each caption's first token, shape (n,)."""
        return self.lengths.cumsum() - self.lengths

    def positions(self, padding: int) -> npt.NDArray[np.int64]:
        """Return RoBERTa's position ids, shape (t,), from the id `padding` + 1 on; padding tokens get `padding`."""
        is_word = self.ids != padding
        words = is_word.cumsum()
        words_before = np.repeat((words - is_word)[self.starts()], self.lengths)
        return np.where(is_word, words - words_before, 0) + padding

    def groups(self) -> list[tuple[int, int]]:
        """Return the captions of each length, as pairs (captions, tokens per caption)."""
        lengths, counts = np.unique(self.lengths, return_counts=True)
        return list(zip(counts.tolist(), lengths.tolist(), strict=True))

    def passes(self, budget: int) -> Iterator["PackedCaptions"]:
        """Yield consecutive captions of at most `budget` tokens; a longer caption has its own pass."""
        ends = self.lengths.cumsum()
        first = token = 0
        while first < len(ends):
            stop = max(first + 1, int(np.searchsorted(ends, token + budget, side="right")))
            end = int(ends[stop - 1])
            yield PackedCaptions(self.ids[token:end], self.lengths[first:stop])
            first, token = stop, end


def pack(captions: Sequence[Sequence[int]]) -> tuple[npt.NDArray[np.int64], PackedCaptions]:
    """Return the order of the captions by length, shape (n,), and their token ids in that order."""
    lengths = np.fromiter(map(len, captions), np.int64, len(captions))
    order = np.argsort(lengths, kind="stable")
    ids = chain.from_iterable(map(captions.__getitem__, order.tolist()))
    return order, PackedCaptions(np.fromiter(ids, np.int64, lengths.sum()), lengths[order])


class LogitModel(ABC):
    """A sequence classifier of one label."""

    @torch.inference_mode()
    def logits(self, captions: PackedCaptions, budget: int) -> torch.Tensor:
        """Return logits of shape (n,), on the model's device, computed in passes of at most `budget` tokens."""
        return torch.cat([self.forward(part) for part in captions.passes(budget)]).float()

    @abstractmethod
    def forward(self, captions: PackedCaptions) -> torch.Tensor:
        """Return logits of shape (n,) for n captions, in one pass."""


def load_logit_model(checkpoint: str, config: Any, device: torch.device, precision: str) -> LogitModel:
    """Load a one-label classifier, with matrix products in `precision`. Raises `UserError` if weights are missing."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    if config.model_type not in FAMILIES or config.hidden_act != "gelu":
        return PaddedModel(_load(checkpoint).to(device).eval(), dtype)
    shapes = _roberta_shapes(config)
    # Without transformers' model, whose import takes longer than scoring 10,000 captions on a CPU.
    file = locate_checkpoint(checkpoint) / "model.safetensors"
    weights = read_weights(file) if file.is_file() else {}
    if any(name not in weights or weights[name].shape != shape for name, shape in shapes.items()):
        # It finds other files and former names, and reports missing weights.
        weights = _load(checkpoint).state_dict()
    return PackedRoberta({name: weights[name] for name in shapes}, config, device, dtype)


def _load(checkpoint: str) -> Any:
    return load_model("AutoModelForSequenceClassification", checkpoint)


def _roberta_shapes(config: Any) -> dict[str, tuple[int, ...]]:
    """Return the shape of each weight of a `RobertaForSequenceClassification` of one label."""
    shapes: dict[str, tuple[int, ...]] = {}

    def add(name: str, *shape: int) -> None:
        shapes.update({f"{name}.weight": shape, f"{name}.bias": shape[:1]})

    width, inner = config.hidden_size, config.intermediate_size
    for kind, count in (
        ("word", config.vocab_size),
        ("position", config.max_position_embeddings),
        ("token_type", config.type_vocab_size),
    ):
        shapes[f"roberta.embeddings.{kind}_embeddings.weight"] = count, width
    add("roberta.embeddings.LayerNorm", width)
    for layer in range(config.num_hidden_layers):
        name = f"roberta.encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            add(f"{name}.attention.{part}", width, width)
        add(f"{name}.attention.output.LayerNorm", width)
        add(f"{name}.intermediate.dense", inner, width)
        add(f"{name}.output.dense", width, inner)
        add(f"{name}.output.LayerNorm", width)
    add("classifier.dense", width, width)
    add("classifier.out_proj", 1, width)
    return shapes


class PaddedModel(LogitModel):
    """Any sequence classifier of one label: an fp32 model on its device, with matrix products in `dtype`."""

    def __init__(self, model: Any, dtype: torch.dtype) -> None:
        self._model = model
        self._dtype = dtype

    def forward(self, captions: PackedCaptions) -> torch.Tensor:
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


class PackedRoberta(LogitModel):
    """A `RobertaForSequenceClassification` on captions that are concatenated into one sequence.

    Linear layers and norms act on single tokens. Attention needs no mask: it runs on the captions of one length at a
    time or, in bf16 on a GPU, on captions of all lengths at once. The head reads only the first token, so the last
    layer computes only that one.

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

    def forward(self, captions: PackedCaptions) -> torch.Tensor:
        """Return logits of shape (n,) for n captions."""
        first_tokens = self._to_device(captions.starts())
        embeddings = (
            f"roberta.embeddings.{kind}_embeddings.weight" for kind in ("word", "token_type", "position")
        )
        words, token_types, positions = map(self._weights.__getitem__, embeddings)
        hidden = words[self._to_device(captions.ids)] + token_types[0]
        hidden = hidden + positions[self._to_device(captions.positions(self._padding))]
        hidden = self._norm("roberta.embeddings", hidden)
        attend = self._attention(captions)
        for layer in range(self._layers):
            rows = first_tokens if layer == self._layers - 1 else None
            hidden = self._layer(f"roberta.encoder.layer.{layer}", hidden, rows, attend)
        pooled = torch.tanh(self._linear("classifier.dense", hidden))
        return self._linear("classifier.out_proj", pooled)[:, 0]

    def _attention(self, captions: PackedCaptions) -> Attention:
        """Return self-attention within each of `captions`, with a launch per layer if the device can."""
        if self._device.type != "cuda" or self._dtype != torch.bfloat16:
            return partial(attend_by_length, groups=captions.groups(), heads=self._heads)
        bounds = self._to_device(np.append(0, captions.lengths.cumsum()).astype(np.int32))
        return partial(attend_to_all, bounds=bounds, longest=int(captions.lengths.max()), heads=self._heads)

    def _layer(
        self, name: str, hidden: torch.Tensor, rows: torch.Tensor | None, attend: Attention
    ) -> torch.Tensor:
        """Return the output of a layer, of all tokens or of those at `rows`, one per caption."""
        inputs = hidden.to(self._dtype)
        residual, query_input = (hidden, inputs) if rows is None else (hidden[rows], inputs[rows])
        query = self._linear(f"{name}.attention.self.query", query_input)
        key, value = (self._linear(f"{name}.attention.self.{kind}", inputs) for kind in ("key", "value"))
        attended = attend(query, key, value)
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

    def _to_device(self, indices: npt.NDArray[np.integer[Any]]) -> torch.Tensor:
        tensor = torch.from_numpy(indices)
        if self._device.type == "cuda":  # pinned, so that the copy is asynchronous
            return tensor.pin_memory().to(self._device, non_blocking=True)
        return tensor


def attend_by_length(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, groups: Sequence[tuple[int, int]], heads: int
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
    parts = zip(groups, query.split(query_sizes), key.split(sizes), value.split(sizes), strict=True)
    attended = []
    for (count, _), *qkv in parts:
        q, k, v = (p.view(count, -1, heads, p.shape[1] // heads).transpose(1, 2) for p in qkv)
        attended.append(scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2).flatten(0, 1))
    return torch.cat(attended)


def attend_to_all(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bounds: torch.Tensor,
    longest: int,
    heads: int,
) -> torch.Tensor:
    """Return the same, for half precision on a GPU, in one launch.

    Args:
        bounds: the first token of each caption, and the number of all tokens, int32, (captions + 1,).
        longest: tokens of the longest caption.
    """
    q, k, v = (p.view(len(p), heads, -1) for p in (query, key, value))
    query_bounds, longest_query = bounds, longest
    if len(query) != len(key):
        query_bounds, longest_query = torch.arange(len(bounds), dtype=bounds.dtype, device=bounds.device), 1
    # What `torch.nn.attention.varlen` calls, without importing torch's compiler, which takes seconds.
    flash = torch.ops.aten._flash_attention_forward
    attended, *_ = flash(q, k, v, query_bounds, bounds, longest_query, longest, 0.0, False, False)
    return torch.flatten(attended, 1)
