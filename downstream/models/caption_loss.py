"""Captions as tokens of a language model, and the loss of predicting them: what the captioner is trained on."""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows it by
from torch import nn

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from downstream.batching import groups_of_similar_length, to_pixels
from downstream.training.training_data import Inputs

IGNORED = -100  # label of a position without loss


@dataclass(frozen=True)
class CaptionCollate:
    """Turns samples into tensors: ``pixel_values`` (n, 3, h, w), ``decoder_input_ids`` and ``labels`` (n, t)."""

    processor: Any
    tokenizer: Any
    max_tokens: int

    def __call__(self, samples: list[Sample]) -> Inputs:
        """Return the tensors of a batch."""
        pixels = to_pixels(self.processor, [sample.image for sample in samples])
        ids, labels = self.tokens([sample.text for sample in samples])
        return {"pixel_values": pixels, "decoder_input_ids": ids, "labels": labels}

    def tokens(self, captions: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return decoder inputs and labels, each (n, t): ``<bos> a cat <pad>`` and ``a cat <eos> -100``.

        GPT-2 has one special token for start, end and padding: the loss is taken on the first end only. A caption
        cut at `max_tokens` gets no end, or the model would learn to stop in mid-sentence.
        """
        start, end = start_and_end(self.tokenizer)
        encoded = self.tokenizer(captions, add_special_tokens=False)["input_ids"]
        targets = [[*ids, end][: self.max_tokens] for ids in encoded]
        longest = max(map(len, targets))
        inputs = torch.full((len(captions), longest), end)
        labels = torch.full((len(captions), longest), IGNORED)
        for row, target in enumerate(targets):
            inputs[row, : len(target)] = torch.tensor([start, *target[:-1]])
            labels[row, : len(target)] = torch.tensor(target)
        return inputs, labels


def start_and_end(tokenizer: Any) -> tuple[int, int]:
    """Return the ids of the first and the last token of a caption; a tokenizer without bos starts with eos."""
    end = tokenizer.eos_token_id
    if end is None:
        raise UserError(
            f"the tokenizer of {tokenizer.name_or_path} must have an end token; choose a causal decoder (gpt2)"
        )
    return (end if tokenizer.bos_token_id is None else tokenizer.bos_token_id), end


class CaptionLoss(nn.Module):
    """Next-token cross-entropy, summed over the caption tokens of the batch."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    @property
    def towers(self) -> list[nn.Module]:
        """Encoder and decoder."""
        return [self.model.encoder, self.model.decoder]

    def forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (sum of losses, number of tokens)."""
        if not inputs:  # other processes have samples and wait for the gradients of this one
            zero = 0 * torch.stack([p.sum() for p in self.parameters() if p.requires_grad]).sum()
            return zero, zero.detach()
        ids, labels = inputs["decoder_input_ids"], inputs["labels"]
        has_loss = labels != IGNORED
        states = self.model.encoder(pixel_values=inputs["pixel_values"]).last_hidden_state
        losses = [
            self._loss(states[rows], ids[rows, :length], labels[rows, :length])
            for rows, length in groups_of_similar_length(has_loss)
        ]
        return torch.stack(losses).sum(), has_loss.sum()

    def _loss(self, states: torch.Tensor, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the sum of the losses of captions (n, t), given the states (n, positions, d) of their images."""
        logits = self.model(encoder_outputs=(states,), decoder_input_ids=ids, use_cache=False).logits
        return F.cross_entropy(
            logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORED, reduction="sum"
        )
