"""Steps that run once: each has a folder with a manifest of its inputs and whether it is finished."""

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmark.core.paths import write_text
from benchmark.results.provenance import library_versions

log = logging.getLogger(__name__)
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class FinishedStep:
    """A finished step: its folder, the fingerprint of its inputs, and the facts that it reported."""

    folder: Path
    fingerprint: str
    facts: Mapping[str, Any]


def run_step(
    root: Path, name: str, inputs: Mapping[str, Any], work: Callable[[Path], Mapping[str, Any]]
) -> FinishedStep:
    """Run a step in the folder `root`/`name`, unless it has finished there with the same inputs.

    A step that was interrupted keeps its files, so that `work` can resume. If the inputs have changed, the folder is
    deleted and the step runs again.

    Args:
        root: folder of the build.
        name: name of the step and of its folder.
        inputs: everything that the output depends on: plain data, or the finished steps that it uses.
        work: runs the step in a given folder and returns facts for the manifest.
    """
    folder = root / name
    plain_inputs = {key: v.fingerprint if isinstance(v, FinishedStep) else v for key, v in inputs.items()}
    text = json.dumps(plain_inputs, sort_keys=True, default=str)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    manifest = _read(folder / MANIFEST)
    if manifest.get("fingerprint") == fingerprint and manifest.get("finished"):
        log.info("%s: already finished", name)
        return FinishedStep(folder, fingerprint, manifest["facts"])
    if manifest.get("fingerprint") != fingerprint and folder.exists():
        log.info("%s: its inputs changed, so it runs again", name)
        shutil.rmtree(folder)
    manifest = {"step": name, "fingerprint": fingerprint, "inputs": json.loads(text), "finished": False}
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    log.info("%s: started", name)
    started = time.monotonic()
    facts = dict(work(folder))
    seconds = time.monotonic() - started
    manifest |= {
        "finished": True, "facts": facts, "seconds": round(seconds, 1), "versions": library_versions()
    }  # fmt: skip
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    log.info("%s: %s", name, ", ".join([f"{seconds:.0f} s", *(f"{k} {v}" for k, v in facts.items())]))
    return FinishedStep(folder, fingerprint, facts)


def _read(path: Path) -> dict[str, Any]:
    """Return the manifest, empty if the file is missing or unreadable."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}
