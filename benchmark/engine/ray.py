"""Work on a Ray cluster; needs the extra ``pairsift[ray]``."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from benchmark.core.errors import UserError
from benchmark.core.extras import require
from benchmark.core.paths import cache_dir
from benchmark.core.ranges import NonNegativeFloat, PositiveInt
from benchmark.engine.base import Work
from benchmark.engine.worker_usage import Usage, own_usage, record_workers

Piece = TypeVar("Piece")
T = TypeVar("T")


class RayEngine:
    """Runs work in Ray actors, each of which sets it up once.

    Args:
        address: the cluster's address; None starts one on this machine.
        workers: number of actors.
        gpus: GPUs per actor; 0 runs on the CPU.
    """

    def __init__(
        self, address: str | None = None, workers: PositiveInt = 2, gpus: NonNegativeFloat = 0
    ) -> None:
        require("ray")
        self.address = address
        self.workers = workers
        self.gpus = gpus

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield the return value of each piece as soon as it is done."""
        # Otherwise Ray writes a token file into the home folder.
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        import ray
        from ray.util import ActorPool

        if not ray.is_initialized():
            ray.init(address=self.address, include_dashboard=False, log_to_driver=False)
        make_actor = ray.remote(num_gpus=self.gpus)(_Actor)
        device = "cuda" if self.gpus else "cpu"
        count = max(1, min(self.workers, len(pieces)))
        actors: list[Any] = [make_actor.remote(work, device, cache_dir().parent) for _ in range(count)]
        pool: Any = ActorPool(actors)  # its annotations do not allow this lambda
        try:
            yield from pool.map_unordered(lambda a, piece: a.call.remote(piece), list(pieces))
            record_workers(ray.get([actor.usage.remote() for actor in actors]))
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise error.cause from None
            raise


class _Actor:
    """One worker of the cluster, with the cache of the process that started it: what it writes is read there."""

    def __init__(self, work: Work[Any, Any], device: str, cache_home: Path) -> None:
        os.environ["XDG_CACHE_HOME"] = str(cache_home)
        self._work = work
        self._device: str | None = device

    def call(self, piece: Any) -> Any:
        # Not in the constructor: Ray would report an error there only as a dead actor.
        if self._device is not None:
            self._work.setup(torch.device(self._device))
            self._device = None
        return self._work(piece)

    def usage(self) -> Usage:
        return own_usage()
