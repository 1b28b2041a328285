"""The interface of SBA and VBA: reconstruct captions through a bottleneck."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from benchmark.core.devices import Device
from benchmark.core.identity import Identified

Beams = list[str]  # the reconstructions of one caption, best first


class Autoencoder(Identified, ABC):
    """Reconstructs captions. The reconstruction of a caption must not depend on its batch."""

    batch_size: ClassVar[int] = 256

    @abstractmethod
    def setup(self, device: Device) -> None:
        """Load the models, once per worker."""

    @abstractmethod
    def reconstruct(self, captions: Sequence[str]) -> list[Beams]:
        """Return the reconstructions of each caption, at least one per caption."""


def one_line(caption: str) -> str:
    """Return `caption` with runs of white space collapsed: models stop decoding at a newline."""
    return " ".join(caption.split())


def caption_seed(caption: str, number: int = 0) -> int:
    """Return the seed of image `number` of a caption. Scores must not depend on batches, so seeds do not."""
    return int.from_bytes(hashlib.sha256(f"{number}\n{caption}".encode(errors="surrogatepass")).digest()[:6])
