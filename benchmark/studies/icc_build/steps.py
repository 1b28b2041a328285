"""Steps that are done once: each has a folder, and a manifest that says what went in and whether it is finished."""

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
class Done:
    """A finished step: its folder, the fingerprint of all that went into it, and the facts that it reported."""

    folder: Path
    fingerprint: str
    facts: Mapping[str, Any]


def run_step(
    root: Path, name: str, inputs: Mapping[str, Any], work: Callable[[Path], Mapping[str, Any]]
) -> Done:
    """Do the step `name` in the folder `root`/`name`, unless it was finished there with the same `inputs`.

    A step that was killed finds what it left behind and may go on from there; one that was begun or finished with
    other inputs is done anew. `inputs` are plain data, or the `Done` of the steps before.

    Args:
        root: folder of the build.
        name: of the step, and of its folder.
        inputs: everything that the output depends on.
        work: does the step in the folder that it is given, and returns facts for the manifest.
    """
    folder = root / name
    described = {key: v.fingerprint if isinstance(v, Done) else v for key, v in inputs.items()}
    text = json.dumps(described, sort_keys=True, default=str)
    fingerprint = hashlib.sha256(text.encode()).hexdigest()[:16]
    before = _read(folder / MANIFEST)
    if before.get("fingerprint") == fingerprint and before.get("finished"):
        log.info("%s: done before", name)
        return Done(folder, fingerprint, before["facts"])
    if before.get("fingerprint") != fingerprint and folder.exists():
        log.info("%s: its inputs changed, so it is done anew", name)
        shutil.rmtree(folder)
    manifest = {"step": name, "fingerprint": fingerprint, "inputs": json.loads(text), "finished": False}
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    log.info("%s: begins", name)
    started = time.monotonic()
    facts = dict(work(folder))
    seconds = time.monotonic() - started
    manifest |= {
        "finished": True, "facts": facts, "seconds": round(seconds, 1), "versions": library_versions()
    }  # fmt: skip
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    log.info("%s: %s", name, ", ".join([f"{seconds:.0f} s", *(f"{k} {v}" for k, v in facts.items())]))
    return Done(folder, fingerprint, facts)


def _read(path: Path) -> dict[str, Any]:
    """Return the manifest; an empty one when there is none or it cannot be read."""
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}
