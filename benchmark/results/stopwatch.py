"""Cost of a run: seconds of its stages, and memory of its workers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from benchmark.core.usage import helpers_peak_rss_bytes, now, since
from benchmark.engine.workers import WORKER_RUNS


@dataclass(frozen=True)
class Stage:
    """Cost of one stage."""

    wall_seconds: float
    cpu_seconds: float  # processor seconds of this process, its ended children, and the workers of engines
    device: str
    device_seconds: float  # wall seconds on a GPU, processor seconds on a CPU


class Stopwatch:
    """Times the stages of a run."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.stages: dict[str, Stage] = {}
        self._first_run = len(WORKER_RUNS)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        started = now()
        yield
        spent = since(started)
        device_seconds = spent.processor if self.device == "cpu" else spent.clock
        wall, processor, on_device = (round(s, 3) for s in (spent.clock, spent.processor, device_seconds))
        self.stages[name] = Stage(wall, processor, self.device, on_device)

    @property
    def workers_peak_rss_bytes(self) -> int:
        """The `Result` field of this name, so far."""
        runs = [run.peak_rss_bytes for run in WORKER_RUNS[self._first_run :]]
        return max(helpers_peak_rss_bytes(), *runs, 0)
