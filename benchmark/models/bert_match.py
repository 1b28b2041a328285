"""BERTScore F1 of pairs of texts (Zhang et al. 2019), with any encoder; values are those of bert-score 0.3.13."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from benchmark.core.devices import Device
from benchmark.core.errors import UserError
from benchmark.core.requirements import Requirement, look
from benchmark.models.checkpoints import (
    find_checkpoint,
    load_model,
    load_pretrained,
    locate_checkpoint,
    text_limit,
)
from benchmark.models.token_batches import token_batches

if TYPE_CHECKING:
    import torch

    # Unit vectors of the t tokens of a text (t, d), and their weights (t,): 0 for its class and end token.
    Tokens = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class BertMatcher:
    """An encoder, truncated after the layer whose vectors are compared, and its tokenizer."""

    encoder: Any
    tokenizer: Any
    device: Device

    def f1(self, candidates: Sequence[str], references: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the F1 of each candidate with its reference, shape (n,), at most 1; 0 if either is empty."""
        import torch

        pairs = [(c.strip(), r.strip()) for c, r in zip(candidates, references, strict=True)]
        texts = sorted({text for pair in pairs for text in pair})
        lengths = [len(ids) for ids in self.tokenizer(texts, truncation=True)["input_ids"]] if texts else []
        tokens: dict[str, Tokens] = {}
        for rows in token_batches(lengths, self.device):
            part = [texts[row] for row in rows]
            tokens |= zip(part, self._embed(part, [lengths[row] for row in rows]), strict=True)
        parts = list(token_batches([max(len(tokens[t][1]) for t in pair) for pair in pairs], self.device))
        f1 = [_match(*([tokens[pairs[row][side]] for row in rows] for side in (0, 1))) for rows in parts]
        scores = np.empty(len(pairs), np.float32)
        if f1:  # one copy from a GPU, which would stop at each
            scores[[*chain(*parts)]] = torch.cat(f1).cpu().numpy()
        return scores

    def _embed(self, texts: list[str], lengths: list[int]) -> list[Tokens]:
        import torch

        encoded = self.tokenizer(texts, padding=True, truncation=True, return_tensors="pt").to(self.device)
        ids, mask = encoded["input_ids"], encoded["attention_mask"]
        with torch.inference_mode():
            states = self.encoder(ids, attention_mask=mask).last_hidden_state.float()
        vectors = torch.nn.functional.normalize(states, dim=-1)
        ends = (self.tokenizer.cls_token_id, self.tokenizer.sep_token_id)
        weights = torch.stack([ids != end for end in ends if end is not None]).all(0).float()
        longest, is_left = ids.shape[1], self.tokenizer.padding_side == "left"
        kept = [slice(longest - length, None) if is_left else slice(length) for length in lengths]
        return [(vectors[row, part], weights[row, part]) for row, part in enumerate(kept)]


def _match(candidates: Sequence[Tokens], references: Sequence[Tokens]) -> torch.Tensor:
    """Return the F1 of n pairs of texts (n,): each token is compared with the most similar one of the other text."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    (left, left_weights), (right, right_weights) = (
        [pad_sequence(list(parts), batch_first=True) for parts in zip(*texts, strict=True)]
        for texts in (candidates, references)
    )
    padding = ~(left.any(-1)[:, :, None] & right.any(-1)[:, None])
    cosines = (left @ right.mT).masked_fill(padding, -1.0)
    precision = (cosines.amax(2) * left_weights).sum(1) / left_weights.sum(1)
    recall = (cosines.amax(1) * right_weights).sum(1) / right_weights.sum(1)
    return torch.nan_to_num(2 * precision * recall / (precision + recall))  # NaN: a text without words


def load_bert_matcher(model: str, num_layers: int, device: Device) -> BertMatcher:
    """Load the first `num_layers` layers of `model` (hub name or folder).

    Raises `UserError` for more layers than the encoder has, or missing weights.
    """
    folder = locate_checkpoint(model)
    config = load_pretrained("AutoConfig", model)
    _check_layers(folder, num_layers, config.num_hidden_layers)
    encoder = load_model("AutoModel", model, ("pooler.",), num_hidden_layers=num_layers)
    tokenizer = load_pretrained("AutoTokenizer", model)
    # A tokenizer saved without its maximum length reports 10^30, and a long caption then exceeds the positions.
    limit = text_limit(tokenizer, encoder, f"checkpoint {model}")
    tokenizer.model_max_length = min(tokenizer.model_max_length, limit)
    return BertMatcher(encoder.eval().to(device), tokenizer, device)


def bert_requirement(model: str, num_layers: int) -> Requirement:
    """Return whether `model` is on this machine and has so many layers, or how large its download is."""

    def locate() -> Path:
        folder = find_checkpoint(model)
        try:  # not transformers' own reader, whose import takes seconds
            config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"checkpoint {folder} has no readable config.json ({error})") from None
        if "num_hidden_layers" in config:  # some have another name for it
            _check_layers(folder, num_layers, config["num_hidden_layers"])
        return folder

    return look(f"encoder {Path(model).name}", locate)


def _check_layers(folder: Path, num_layers: int, layers: int) -> None:
    if not 0 < num_layers <= layers:
        raise UserError(
            f"models.bertscore.num_layers={num_layers} must be from 1 to {layers}, the number of layers of {folder}"
        )
