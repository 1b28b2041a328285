"""The LSTM of the captioner of AVA-Captions: its training loss, and its beam search."""

import torch
import torch.nn.functional as F  # noqa: N812, its usual name
from torch import nn

from downstream.models.networks import IGNORED, zero_of
from downstream.training.training_data import Inputs


class CaptionLstm(nn.Module):
    """Reads an image's features as its first input, then the caption so far, and predicts the next word.

    Show and Tell (Vinyals et al. 2015), which is the model "fc" of the framework that AVA-Captions trains. Its
    cell has a maxout; this is PyTorch's LSTM. Weights are drawn from the global generator: seed it.

    Args:
        features: width of the image's features.
        words: size of the vocabulary.
        width: of the embeddings of words and of the LSTM.
        dropout: of the LSTM's outputs.
    """

    def __init__(self, features: int, words: int, width: int, dropout: float) -> None:
        super().__init__()
        self.image = nn.Linear(features, width)
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.logits = nn.Linear(width, words)
        for weight in (self.words.weight, self.logits.weight):
            nn.init.uniform_(weight, -0.1, 0.1)  # the framework's

    def forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (sum of the cross-entropy of next words, number of words)."""
        if not inputs:
            zero = zero_of(self)
            return zero, zero.detach()
        image, labels = self.image(inputs["image_features"]), inputs["labels"]
        states, _ = self.lstm(torch.cat([image[:, None], self.words(inputs["decoder_input_ids"])], 1))
        logits = self.logits(self.dropout(states[:, 1:])).flatten(0, 1).float()
        loss = F.cross_entropy(logits, labels.flatten(), ignore_index=IGNORED, reduction="sum")
        return loss, (labels != IGNORED).sum()

    def search(
        self, features: torch.Tensor, beams: int, length: int, start: int, end: int, never: list[int]
    ) -> torch.Tensor:
        """Return the most probable caption that a beam search meets for each of n images; among equals, the first.

        Args:
            features: (n, d).
            beams: captions that are kept at each step; finished captions among them are not continued.
            length: words at which a caption is cut.
            start: first word; `end`: last word; `never`: words that are not written.

        Returns:
            Word numbers, (n, `length`), filled up with `end`.
        """
        images, device = len(features), features.device
        _, (hidden, cell) = self.lstm(self.image(features)[:, None])
        hidden, cell = hidden.repeat_interleave(beams, 1), cell.repeat_interleave(beams, 1)
        first_beams = torch.arange(images, device=device)[:, None] * beams
        captions = torch.full((images, beams, length), end, device=device)
        scores = torch.full((images, beams), -torch.inf, device=device)
        scores[:, 0] = 0  # all beams begin alike: one is enough
        last = torch.full((images, beams), start, device=device)
        best = torch.full((images,), -torch.inf, device=device)
        written = captions[:, 0].clone()
        for position in range(length):
            states, (hidden, cell) = self.lstm(self.words(last.view(-1, 1)), (hidden, cell))
            steps = self.logits(states[:, 0]).float().log_softmax(1)
            steps[:, never] = -torch.inf
            words = steps.shape[1]
            scores, chosen = (scores[:, :, None] + steps.view(images, beams, words)).flatten(1).topk(beams)
            beam, last = chosen // words, chosen % words
            captions = captions.gather(1, beam[:, :, None].expand_as(captions))
            captions[:, :, position] = last
            rows = (first_beams + beam).flatten()
            hidden, cell = hidden[:, rows], cell[:, rows]
            complete = last == end if position + 1 < length else torch.ones_like(last, dtype=torch.bool)
            score, finished = scores.masked_fill(~complete, -torch.inf).max(1)
            better = score > best
            written[better] = captions[better, finished[better]]
            best = torch.where(better, score, best)
            scores = scores.masked_fill(complete, -torch.inf)
            if (scores <= best[:, None]).all():  # a longer caption is never more probable
                break
        return written
