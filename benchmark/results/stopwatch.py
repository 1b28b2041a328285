"""Cost of a run: seconds of its stages, and memory."""

import platform
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """Cost of one stage: wall seconds, processor seconds of this process and its children, device seconds."""

    wall_seconds: float
    cpu_seconds: float
    device: str
    device_seconds: float


class Stopwatch:
    """Times the stages of a run."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.stages: dict[str, Stage] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage. Device seconds are wall seconds on a GPU, processor seconds on a CPU."""
        wall, cpu = time.monotonic(), _cpu_seconds()
        yield
        wall, cpu = time.monotonic() - wall, _cpu_seconds() - cpu
        device_seconds = cpu if self.device == "cpu" else wall
        self.stages[name] = Stage(round(wall, 3), round(cpu, 3), self.device, round(device_seconds, 3))


def _cpu_seconds() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak_rss_bytes() -> int:
    """Return the largest resident set of this process or any ended child."""
    usages = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return max(usages) * (1 if platform.system() == "Darwin" else 1024)
