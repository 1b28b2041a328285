"""Where a record comes from: commit, library versions, machine, time."""

import os
import platform
import subprocess
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmark.core.devices import has_gpu

LIBRARIES = (
    "torch", "transformers", "open-clip-torch", "accelerate", "numpy", "pyarrow", "pillow", "hydra-core", "faiss-cpu",
    "faiss-gpu-cu12", "onnxruntime", "opencv-python-headless", "rapidfuzz", "rapidocr", "scikit-learn", "spacy",
    "timm",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """The fields that every record has; empty in a record made by hand."""

    git_commit: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    machine: str = ""
    finished: str = ""


def provenance() -> dict[str, Any]:
    """Return the fields of `Provenance` for a record that is made now."""
    return {
        "git_commit": git_commit(),
        "versions": library_versions(),
        "machine": machine(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def library_versions() -> dict[str, str]:
    """Return the versions of Python, this project and the installed libraries that results depend on."""
    versions = {"python": platform.python_version()}
    for name in ("pairsift", *LIBRARIES):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def machine() -> str:
    """Describe the machine: architecture, cores, GPUs."""
    gpus: list[str] = []
    if has_gpu():
        import torch

        gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return ", ".join([platform.machine(), f"{os.cpu_count()} cores", *(gpus or ["no GPU"])])


def git_commit() -> str | None:
    """Return the commit that the code was run from, with ``-dirty`` if it was changed; None outside git."""
    describe = ["describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    command = ["git", "-C", str(Path(__file__).parent), *describe]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
