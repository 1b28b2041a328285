"""The result of a run: one typed JSON file, with what is needed to read it, compare it and repeat it."""

import os
import platform
import resource
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmark.core.records import read_records, write_record

SCHEMA_VERSION = 1
LIBRARIES = (
    "torch",
    "transformers",
    "open-clip-torch",
    "accelerate",
    "numpy",
    "pyarrow",
    "pillow",
    "hydra-core",
    "faiss-cpu",
    "onnxruntime",
    "opencv-python-headless",
    "rapidfuzz",
    "rapidocr",
    "scikit-learn",
    "spacy",
    "timm",
)


@dataclass
class Stage:
    """What one stage took: wall seconds, processor seconds of this process and its children, device."""

    wall_seconds: float
    cpu_seconds: float
    device: str
    device_seconds: float


@dataclass
class DownstreamResult:
    """One trained model: its training report and its metrics by evaluation set (absent ones with a reason)."""

    checkpoint: str
    training: dict[str, Any]
    evaluations: dict[str, list[dict[str, Any]]]


@dataclass
class Result:
    """Everything that a run says of itself. `selection` is the manifest of the subset file."""

    run_id: str
    filter: str
    size: int
    k: int
    pool: str
    seed: int
    selection: dict[str, Any]
    downstream: dict[str, DownstreamResult]
    stages: dict[str, Stage]
    config: dict[str, Any]
    kept: dict[str, int] = field(default_factory=dict)
    scoring: dict[str, float] = field(default_factory=dict)
    peak_rss_bytes: int = 0
    git_commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    finished: str = ""
    schema_version: int = SCHEMA_VERSION


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
    return sum(u.ru_utime + u.ru_stime for u in usages)


def peak_rss_bytes() -> int:
    """Return the largest resident set of this process or any ended child."""
    usages = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return max(usages) * (1 if platform.system() == "Darwin" else 1024)


def library_versions() -> dict[str, str]:
    """Return the versions of this project and of the libraries that results depend on."""
    found = {"python": platform.python_version()}
    for name in ("pairsift", *LIBRARIES):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """Describe the machine: architecture, cores, GPUs."""
    import torch

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return ", ".join([platform.machine(), f"{os.cpu_count()} cores", *(gpus or ["no GPU"])])


def provenance() -> dict[str, Any]:
    """Return what a record says of how it came about: `git_commit`, `versions`, `machine`, `finished`."""
    return {
        "git_commit": git_commit(),
        "versions": library_versions(),
        "machine": machine(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def git_commit() -> str | None:
    """Return the commit that the code was run from, with ``-dirty`` if it was changed; None outside git."""
    command = [
        "git",
        "-C",
        str(Path(__file__).parent),
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def write_result(folder: Path, result: Result) -> Path:
    """Write ``folder/<run_id>.json``, whole or not at all, and return its path."""
    return write_record(folder, result)


def read_results(folder: Path) -> list[Result]:
    """Read all results of `folder`, in the order of their run ids; files of another schema are left out."""
    found = []
    for data in read_records(folder, SCHEMA_VERSION, "downstream"):
        data["downstream"] = {n: DownstreamResult(**d) for n, d in data["downstream"].items()}
        data["stages"] = {n: Stage(**s) for n, s in data["stages"].items()}
        found.append(Result(**data))
    return found
