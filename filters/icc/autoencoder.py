"""What SBA and VBA have in common: a caption goes through a bottleneck, and captions come back."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch

from benchmark.core.identity import Identified

Beams = list[str]  # the reconstructions of one caption, best first


class Autoencoder(Identified, ABC):
    """Reconstructs captions. What it gives for a caption does not depend on the captions beside it."""

    batch_size: ClassVar[int] = 256

    @abstractmethod
    def setup(self, device: torch.device) -> None:
        """Load the models, once per worker."""

    @abstractmethod
    def reconstruct(self, captions: Sequence[str]) -> list[Beams]:
        """Return the reconstructions of each caption; every list holds at least one."""


def one_line(caption: str) -> str:
    """Return `caption` with each run of white space as one space: a newline ends what a model decodes."""
    return " ".join(caption.split())


def caption_seed(caption: str, number: int = 0) -> int:
    """Return the seed of a caption's image `number`: it depends on nothing else, so no score depends on batches."""
    return int.from_bytes(hashlib.sha256(f"{number}\n{caption}".encode(errors="surrogatepass")).digest()[:6])
