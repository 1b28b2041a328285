"""Processes that decode images, done in this process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from PIL import Image

from benchmark.core.pixel_workers import PixelBatch
from downstream import batching


def decode_in_processes(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let `pixel_batches` take any number of images for many; return the list of images that it decodes."""
    decoded: list[Any] = []

    class InThisProcess:
        def __init__(self, preprocess: Any, *others: Any) -> None:
            self.preprocess = preprocess

        def batches(self, batches: Sequence[Sequence[Any]]) -> Iterator[PixelBatch]:
            for batch in batches:
                decoded.extend(batch)
                pixels = torch.stack([self.preprocess(item.load()) for item in batch])
                yield PixelBatch(pixels, [None] * len(batch))

    monkeypatch.setattr(batching, "PixelWorkers", InThisProcess)
    monkeypatch.setattr(batching, "MANY_IMAGES", 1)
    monkeypatch.setattr(batching, "own_cores", lambda: 2)
    return decoded


@dataclass(frozen=True)
class InMemory:
    """An image in memory in place of its location."""

    image: Image.Image

    def load(self) -> Image.Image:
        return self.image
