"""What an augmenter is: a model that writes one more caption for each sample."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from benchmark.core.batch import Sample
from benchmark.core.identity import Identified

LONGEST = 77  # words: "no more than 77 words" (DS-CLIP, appendix A), as many as its text encoder has tokens


class Augmenter(Identified, ABC):
    """Writes captions, greedily: what it writes for a sample does not depend on the samples beside it."""

    @abstractmethod
    def setup(self, device: torch.device) -> None:
        """Load the model: bf16 on a GPU."""

    @abstractmethod
    def captions(self, samples: Sequence[Sample]) -> list[str]:
        """Return one caption a sample, of one line and at most 77 words; empty where the model wrote none."""


def first_words(text: str) -> str:
    """Return the first 77 words of `text` on one line."""
    return " ".join(text.split()[:LONGEST])
