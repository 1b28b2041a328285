"""The interfaces of engines and of the work that they run."""

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

Piece = TypeVar("Piece")
Piece_contra = TypeVar("Piece_contra", contravariant=True)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Work(Protocol, Generic[Piece_contra, T_co]):
    """Picklable work on pieces, such as shards: set up once per worker, then called for each piece.

    `light` work takes less time than starting a worker process, so it runs in the caller's; a Ray cluster, which may
    have other disks and memory, shares it out like all work.
    """

    light: bool

    def setup(self, device: str) -> None:
        """Load models on the worker's device, such as ``cuda:1``; by default nothing.

        The device is a name, as work without models needs no torch.
        """
        return

    def __call__(self, piece: Piece_contra, /) -> T_co:
        """Do the work of one piece."""


class Engine(Protocol):
    """Runs work over pieces and yields the return values, in any order."""

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield one return value per piece; the first error ends the run."""
