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
    worker_cpu_seconds: float = 0.0  # the part of `cpu_seconds` that engines' workers used


class Stopwatch:
    """Times the stages of a run."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.stages: dict[str, Stage] = {}
        self._first_run = len(WORKER_RUNS)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        started, first_run = now(), len(WORKER_RUNS)
        yield
        spent = since(started)
        workers = sum(run.processor_seconds for run in WORKER_RUNS[first_run:])
        device_seconds = spent.processor if self.device == "cpu" else spent.clock
        values = (spent.clock, spent.processor, device_seconds, workers)
        wall, processor, *rest = (round(value, 3) for value in values)
        self.stages[name] = Stage(wall, processor, self.device, *rest)

    @property
    def workers_peak_rss_bytes(self) -> int:
        """The `Result` field of this name, so far."""
        runs = [run.peak_rss_bytes for run in WORKER_RUNS[self._first_run :]]
        return max(helpers_peak_rss_bytes(), *runs, 0)
