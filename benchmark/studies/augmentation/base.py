"""The base class of augmenters: models that generate one additional caption per sample."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from benchmark.core.batch import Sample
from benchmark.core.identity import Identified

MAX_WORDS = 77  # per caption: "no more than 77 words" (DS-CLIP, appendix A)


class Augmenter(Identified, ABC):
    """Generates captions with greedy decoding or beam search; a caption does not depend on the rest of the batch."""

    @abstractmethod
    def setup(self, device: torch.device) -> None:
        """Load the model onto `device`, in bf16 on a GPU that computes it."""

    @abstractmethod
    def captions(self, samples: Sequence[Sample]) -> list[str]:
        """Return one caption per sample: one line of at most 77 words, empty if the model generated nothing."""


def first_words(text: str) -> str:
    """Return the first 77 words of `text` on one line."""
    return " ".join(text.split()[:MAX_WORDS])
