"""Work on a Ray cluster; needs the extra ``pairsift[ray]``."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import torch

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.engine.base import Work

Piece = TypeVar("Piece")
T = TypeVar("T")


class RayEngine:
    """Runs work in Ray actors, each of which sets it up once.

    Args:
        address: of the cluster; None starts one on this machine.
        workers: actors.
        gpus: GPUs for each actor (0 runs on CPU).
    """

    def __init__(self, address: str | None = None, workers: int = 2, gpus: float = 0) -> None:
        require("ray")
        self.address = address
        self.workers = workers
        self.gpus = gpus

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield one return value for each piece as it is done."""
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else it writes a token file into the home folder
        import ray
        from ray.util import ActorPool

        if not ray.is_initialized():
            ray.init(address=self.address, include_dashboard=False, log_to_driver=False)
        actor = ray.remote(num_gpus=self.gpus)(_Actor)
        device = "cuda" if self.gpus else "cpu"
        actors = [actor.remote(work, device) for _ in range(max(1, min(self.workers, len(pieces))))]
        pool: Any = ActorPool(actors)  # its annotations do not admit a function of two kinds
        try:
            yield from pool.map_unordered(lambda a, piece: a.call.remote(piece), list(pieces))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise error.cause from None
            raise


class _Actor:
    """One worker of the cluster."""

    def __init__(self, work: Work[Any, Any], device: str) -> None:
        self._work = work
        self._device: str | None = device

    def call(self, piece: Any) -> Any:
        if (
            self._device is not None
        ):  # not when the actor is made: an error there would say no more than that it died
            self._work.setup(torch.device(self._device))
            self._device = None
        return self._work(piece)
