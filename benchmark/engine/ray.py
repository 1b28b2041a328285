"""Work on a Ray cluster; needs the extra ``pairsift[ray]``."""

import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile
from threading import Lock
from typing import Any, TypeVar

from benchmark.core.errors import UserError, panics_as_errors
from benchmark.core.extras import require
from benchmark.core.launch import hide_wandb, take_cores
from benchmark.core.paths import cache_dir
from benchmark.core.ranges import Fraction, NonNegativeFloat, PositiveFloat, PositiveInt
from benchmark.engine.base import Work
from benchmark.engine.workers import PLACEMENT_SECONDS, Usage, WorkerDiedError, WorkerRun, own_usage

Piece = TypeVar("Piece")
T = TypeVar("T")
log = logging.getLogger(__name__)
GIB = 1 << 30
ANSWER_SECONDS = 10.0
REMEDY = (
    "if memory ran out, give each actor more of it (engine.memory_gib=N), or more CPUs so that fewer share a node"
    " (engine.cpus=N); the same command then goes on from here"
)


class RayEngine:
    """Runs work in Ray actors, each of which sets it up once.

    Args:
        address: the cluster's address, which must answer; None joins or starts one on this machine.
        workers: number of actors; an autoscaler adds nodes for those that lack a place. By default as many as the
            nodes of the cluster hold, nodes that join later included.
        cpus: CPUs per actor.
        gpus: fraction of a GPU per actor; 0 runs on the CPU.
        memory_gib: GiB of memory that Ray sets aside per actor; 0 sets none aside.
        wait_minutes: how long the cluster may be without a node that holds an actor.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: PositiveInt | None = None,
        cpus: PositiveFloat = 1,
        gpus: Fraction = 0,
        memory_gib: NonNegativeFloat = 0,
        wait_minutes: NonNegativeFloat = 0,
    ) -> None:
        require("ray")
        self.address = address
        self.workers = workers
        self.cpus = cpus
        self.gpus = gpus
        self.memory_gib = memory_gib
        self.wait_minutes = wait_minutes
        self._needs = f"engine.cpus={cpus:g} engine.gpus={gpus:g} engine.memory_gib={memory_gib:g}"
        self._silent = Lock()
        self._require_answer()  # before anything is drawn or scored

    def run(self, work: Work[Piece, T], pieces: Sequence[Piece]) -> Iterator[T]:
        """Yield the return value of each piece as soon as it is done.

        Raises:
            UserError: when no node holds an actor for `wait_minutes`, or a node does not share the cache.
        """
        if not pieces:
            return
        ray = self._connect()
        self._last_room = time.monotonic()
        memory = int(self.memory_gib * GIB) or None
        actor = ray.remote(num_cpus=self.cpus, num_gpus=self.gpus, memory=memory)(_Actor)
        device, cores = "cuda" if self.gpus else "cpu", max(1, int(self.cpus))
        cache_dir().mkdir(parents=True, exist_ok=True)
        # An actor that does not see this file has another cache.
        with NamedTemporaryFile(prefix="driver-", dir=cache_dir()) as token:
            arguments = ray.put(work), device, cores, Path(token.name)  # the work is pickled once for all
            yield from WorkerRun(
                lambda _: _RayWorker(actor.remote(*arguments), self._on_wait), self._places, pieces, REMEDY
            ).results()

    def _connect(self) -> Any:
        """Return the module `ray`, connected to the cluster."""
        self._require_answer()
        # Otherwise Ray writes a token file into the home folder, and sends statistics of its use to its makers.
        os.environ.setdefault("RAY_AUTH_MODE", "disabled")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        if not ray.is_initialized():
            try:
                ray.init(
                    self.address, include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING
                )
            except ConnectionError:
                raise self._no_answer() from None
        return ray

    def _require_answer(self) -> None:
        """Raise `UserError` if nothing listens at the address: Ray would try again for many minutes."""
        if self.address in (None, "auto", "local"):
            return
        host, _, port = str(self.address).removeprefix("ray://").rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
        except (OSError, ValueError, OverflowError):
            raise self._no_answer() from None

    def _no_answer(self) -> UserError:
        return UserError(
            f"engine.address={self.address}: no Ray cluster answers there; start one with `ray start --head` and give"
            " the host:port that it prints, or auto on one of its nodes"
        )

    def _places(self) -> int:
        """Return how many actors to start. Raises `UserError` if no node has held one for `wait_minutes`."""
        import ray

        # Fractions of a GPU such as .1 are not exact, and an actor's is of a single GPU: two of .4 share one.
        gpu = self.gpus and 1 / int(1 / self.gpus + 1e-6)
        needs = {"CPU": self.cpus, "GPU": gpu, "memory": self.memory_gib * GIB}
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = sum(
            min(int(node.get(of, 0) / need + 1e-6) for of, need in needs.items() if need) for node in nodes
        )
        if room:
            self._last_room = time.monotonic()
        elif time.monotonic() - self._last_room >= 60 * self.wait_minutes:
            most = {of: max((node.get(of, 0) for node in nodes), default=0) for of in needs}
            raise UserError(
                f"no node of the Ray cluster holds an actor with {self._needs}; the most that a node has is"
                f" {most['CPU']:g} CPUs, {most['GPU']:g} GPUs and {most['memory'] / GIB:.1f} GiB; for nodes that an"
                " autoscaler adds, let it wait with engine.wait_minutes=N"
            )
        return self.workers or max(1, room)

    def _on_wait(self) -> None:
        """Log once that actors wait for a place; raise `UserError` if no node will hold one."""
        self._places()  # the node that it waits for may have gone down
        if self._silent.acquire(blocking=False):  # and never released
            log.info("engine=ray: waiting for places on the cluster, each with %s, which other jobs hold or an"
                     " autoscaler may add", self._needs)  # fmt: skip


class _RayWorker:
    """An actor as a `Worker`; `on_wait` is called every `PLACEMENT_SECONDS` until it has started."""

    def __init__(self, actor: Any, on_wait: Callable[[], None]) -> None:
        self._actor = actor
        self._on_wait = on_wait

    def setup(self) -> tuple[Any, Usage]:
        import ray

        started = self._actor.__ray_ready__.remote()  # once it has a place; the work's setup may take longer
        while not ray.wait([started], timeout=PLACEMENT_SECONDS)[0]:
            self._on_wait()
        return self._get(self._actor.setup.remote())

    def call(self, piece: Any) -> tuple[Any, Usage]:
        return self._get(self._actor.call.remote(piece))

    def stop(self) -> None:
        import ray

        ray.kill(self._actor)

    def join(self) -> None:
        """Return at once: the cluster ends the actor."""

    def _get(self, answer: Any) -> tuple[Any, Usage]:
        import ray
        from ray.exceptions import ObjectLostError, OutOfMemoryError, RayActorError, RayTaskError

        try:
            value, usage = ray.get(answer)
        except RayTaskError as error:
            if isinstance(error.cause, UserError):
                raise error.cause from None
            raise
        except (RayActorError, OutOfMemoryError, ObjectLostError) as error:
            raise WorkerDiedError(type(error).__name__) from error
        return value, usage


class _Actor:
    """One worker of the cluster, with the cache of the process that started it: what it writes is read there."""

    def __init__(self, work: Work[Any, Any], device: str, cores: int, token: Path) -> None:
        self._work = work
        self._device = device
        self._cores = cores
        self._token = token

    def setup(self) -> tuple[None, Usage]:
        # Not in the constructor: Ray would report an error there only as a dead actor.
        cache = self._token.parent
        if not self._token.is_file():
            raise UserError(
                f"the Ray node {socket.gethostname()} does not see this machine's cache {cache}; set XDG_CACHE_HOME"
                " here to a folder on a disk that all nodes share under the same path"
            )
        os.environ["XDG_CACHE_HOME"] = str(cache.parent)
        take_cores(self._cores)
        hide_wandb()
        self._work.setup(self._device)
        return None, own_usage()

    def call(self, piece: Any) -> tuple[Any, Usage]:
        with panics_as_errors():
            return self._work(piece), own_usage()
