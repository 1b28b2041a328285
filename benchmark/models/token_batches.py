"""Texts in batches of similar length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def token_batches(lengths: Sequence[int], device: torch.device) -> Iterator[list[int]]:
    """Yield the indices of texts in ascending order of length, about as many tokens at a time as suit the device.

    Tokens are counted with padding. On a CPU few stay in its caches; many keep a GPU busy.
    """
    budget = 65536 if device.type == "cuda" else 1024
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[index] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
