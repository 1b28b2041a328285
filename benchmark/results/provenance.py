"""Where a record comes from: commit, library versions, machine, time."""

import os
import platform
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmark.core.devices import has_gpu
from benchmark.core.source_code import git_commit

LIBRARIES = (
    "torch", "transformers", "open-clip-torch", "accelerate", "numpy", "pyarrow", "pillow", "hydra-core", "faiss-cpu",
    "faiss-gpu-cu12", "onnxruntime", "onnxruntime-gpu", "opencv-python-headless", "rapidfuzz", "rapidocr",
    "scikit-learn", "spacy", "timm",
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
    """Describe the machine: architecture, model of its processor, cores, GPUs."""
    gpus: list[str] = []
    if has_gpu():
        import torch

        gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    parts = [platform.machine(), processor(), f"{os.cpu_count()} cores", *(gpus or ["no GPU"])]
    return ", ".join(filter(None, parts))


def processor() -> str:
    """Return the model of the first processor; empty outside Linux. Metrics differ slightly between models."""
    file = Path("/proc/cpuinfo")
    fields = dict(re.findall(r"^(.+?)\s*: (.+)$", file.read_text(), re.MULTILINE) if file.is_file() else ())
    if "model name" not in fields:
        return ""
    # Clouds hide the name of the product, but not its numbers.
    return "{} (family {}, model {})".format(*map(fields.get, ("model name", "cpu family", "model")))
