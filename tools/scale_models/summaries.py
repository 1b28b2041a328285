"""Teaches a language model to write a caption from one summary vector, as SBA's frozen model must (ICC paper, A.7).

A throw-away encoder summarises some of the caption's tokens in a vector. A linear layer turns the vector into an
input embedding, which the language model reads after BOS. A model of real size needs no such training.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from tools.scale_models.loop import Recipe, Tensors, by_length
from tools.scale_models.masked_lm import IGNORED

DIMENSIONS = 128  # dimensions of a summary
MAX_HIDDEN = 0.5  # maximum fraction of a caption's tokens that its summary leaves out
WINDOW = 16  # number of batches to sort by length together
MAX_NOISE = 1.0  # maximum standard deviation of the noise on a summary, which has a standard deviation of 1


class Summarizer(nn.Module):
    """The encoder and the linear layer after it.

    A summary is the normalised mean of the tokens' input embeddings, projected to `DIMENSIONS`, with noise.

    Args:
        width: dimension of the language model's input embeddings.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.projection = nn.Linear(width, DIMENSIONS, bias=False)
        self.bridge = nn.Linear(DIMENSIONS, width)
        # At the start the soft token holds the words themselves, as far as `DIMENSIONS` allow.
        nn.init.orthogonal_(self.projection.weight)
        with torch.no_grad():
            self.bridge.weight.copy_(self.projection.weight.T)

    def forward(self, embedded: Tensor, read: Tensor, noise: Tensor) -> Tensor:
        """Return the soft tokens (n, width) of captions' input embeddings (n, t, width).

        `read` (n, t) is 1 for tokens in the summary; `noise` (n, `DIMENSIONS`) is added to the summaries.
        """
        mean = (embedded * read[..., None]).sum(1) / read.sum(1, keepdim=True)
        summary = nn.functional.layer_norm(self.projection(mean), (DIMENSIONS,))
        soft: Tensor = self.bridge(summary + noise)
        return soft


def summary_loss(llm: Any, summarizer: Summarizer, batch: Tensors) -> Tensor:
    """Return the cross-entropy of captions given BOS and their summaries."""
    ids, labels = batch["captions"], batch["caption_labels"]
    embedded = llm.get_input_embeddings()(ids)
    soft = summarizer(embedded, batch["read"], batch["noise"])
    start = llm.get_input_embeddings()(ids.new_full((len(ids), 1), llm.config.bos_token_id))
    inputs = torch.cat([start, soft[:, None], embedded], dim=1)
    loss: Tensor = llm(inputs_embeds=inputs, labels=nn.functional.pad(labels, (2, 0), value=IGNORED)).loss
    return loss


def summary_batches(rows: Sequence[Tensor], end: int, recipe: Recipe) -> Iterator[Tensors]:
    """Yield batches of captions with similar lengths, each with the tokens that its summary reads and the noise.

    Args:
        rows: tokens of each caption and the end after it.
        end: number of tokens of the end, which a summary leaves out.
        recipe: number and size of the batches.
    """
    generator = torch.Generator().manual_seed(recipe.seed)
    for chosen in by_length(rows, recipe, WINDOW):
        ids = nn.utils.rnn.pad_sequence([rows[row] for row in chosen], batch_first=True)
        lengths = torch.tensor([len(rows[row]) for row in chosen])[:, None]
        positions = torch.arange(ids.shape[1])[None]
        count = len(ids)
        hidden = MAX_HIDDEN * torch.rand(count, 1, generator=generator)
        chances = torch.rand(ids.shape, generator=generator).masked_fill(positions >= lengths - end, -1.0)
        read = (chances > hidden) | (chances == chances.amax(1, keepdim=True))  # at least one token
        spread = MAX_NOISE * torch.rand(count, 1, generator=generator)
        yield {
            "captions": ids,
            "caption_labels": ids.masked_fill(positions >= lengths, IGNORED),
            "read": read.float(),
            "noise": spread * torch.randn(count, DIMENSIONS, generator=generator),
        }
