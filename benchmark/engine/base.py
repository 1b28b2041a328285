"""What an engine is given and what it does."""

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import torch

Piece = TypeVar("Piece")
Piece_contra = TypeVar("Piece_contra", contravariant=True)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Work(Protocol, Generic[Piece_contra, T_co]):
    """Picklable work on pieces, such as shards: set up once per worker, then called for each piece."""

    light: bool

    def setup(self, device: torch.device) -> None:
        """Load models on the worker's device."""

    def __call__(self, piece: Piece_contra, /) -> T_co:
        """Do the work of one piece."""


class Engine(Protocol):
    """Runs work over pieces and yields what it returns, in any order."""

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield one return value for each piece; the first error ends the run."""
