"""What an engine is given and what it does."""

from collections.abc import Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import torch

from benchmark.pool import Shard

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Work(Protocol, Generic[T_co]):
    """Picklable work on shards: set up once per worker, then called for each shard."""

    light: bool

    def setup(self, device: torch.device) -> None:
        """Load models on the worker's device."""

    def __call__(self, shard: Shard) -> T_co:
        """Do the work of one shard."""


class Engine(Protocol):
    """Runs work over shards and yields what it returns, in any order."""

    def run(self, work: Work[T], shards: Sequence[Shard]) -> Iterator[T]:
        """Yield one return value for each shard; the first error ends the run."""
