"""Shards on a Ray cluster; needs the extra ``pairsift[ray]``."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import torch

from benchmark.engine.base import Work
from benchmark.errors import UserError
from benchmark.pool import Shard

T = TypeVar("T")


class RayEngine:
    """Runs work in Ray actors, each of which sets it up once.

    Args:
        address: of the cluster; None starts one on this machine.
        workers: actors.
        gpus: GPUs for each actor (0 runs on CPU).
    """

    def __init__(self, address: str | None = None, workers: int = 2, gpus: float = 0) -> None:
        self.address = address
        self.workers = workers
        self.gpus = gpus

    def run(self, work: Work[T], shards: Sequence[Shard]) -> Iterator[T]:
        """Yield one return value for each shard as it is done."""
        try:
            os.environ.setdefault(
                "RAY_AUTH_MODE", "disabled"
            )  # else it writes a token file into the home folder
            import ray
            from ray.util import ActorPool
        except ImportError:
            raise UserError("engine=ray needs Ray; install it with `pip install 'pairsift[ray]'`") from None
        if not ray.is_initialized():
            ray.init(address=self.address, include_dashboard=False, log_to_driver=False)
        actor = ray.remote(num_gpus=self.gpus)(_Actor)
        device = "cuda" if self.gpus else "cpu"
        actors = [actor.remote(work, device) for _ in range(max(1, min(self.workers, len(shards))))]
        pool: Any = ActorPool(actors)  # its annotations do not admit a function of two kinds
        yield from pool.map_unordered(lambda a, shard: a.call.remote(shard), list(shards))


class _Actor:
    """One worker of the cluster."""

    def __init__(self, work: Work[Any], device: str) -> None:
        work.setup(torch.device(device))
        self._work = work

    def call(self, shard: Shard) -> Any:
        return self._work(shard)
