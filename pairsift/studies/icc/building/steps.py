"""Steps that run once: each has a folder with a manifest of its inputs and whether it is finished."""

import gc
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmark.core.distributed import wait_for_all
from benchmark.core.errors import UserError
from benchmark.core.hashes import hash_text
from benchmark.core.launch import is_main_process
from benchmark.core.paths import write_text
from benchmark.results.provenance import library_versions

log = logging.getLogger(__name__)
MANIFEST = "manifest.json"
Work = Callable[[Path], Mapping[str, Any]]


@dataclass(frozen=True)
class FinishedStep:
    """A finished step: its folder, the fingerprint of its inputs, and the facts that it reported."""

    folder: Path
    fingerprint: str
    facts: Mapping[str, Any]


class Steps:
    """Runs each step once, in a separate folder, in the main process of a launch."""

    def __init__(self, root: Path, device: torch.device) -> None:
        self.root = root
        self.device = device

    def run(self, name: str, inputs: Mapping[str, Any], work: Work, spread: bool = False) -> FinishedStep:
        """Run a step, unless it has finished; an interrupted step keeps its files, so that `work` can resume.

        Args:
            inputs: everything that the output depends on: plain data, or the finished steps that it uses.
            work: runs the step in a given folder and returns facts for the manifest.
            spread: all processes of a launch run the step together.

        Raises `UserError` if the folder holds output from other inputs.
        """
        folder = self.root / name
        plain = {key: v.fingerprint if isinstance(v, FinishedStep) else v for key, v in inputs.items()}
        text = json.dumps(plain, sort_keys=True, default=str)
        fingerprint = hash_text(text, 16)
        manifest = _read(folder)
        if folder.exists() and manifest.get("fingerprint") != fingerprint:
            other = self.root.with_name(f"{self.root.name}-{fingerprint[:8]}")
            raise UserError(
                f"icc.output={self.root} holds a build from other inputs of {name}; set icc.output={other},"
                f" or delete {folder} to run this step again"
            )
        wait_for_all(self.device)  # until all have read it: the main process may finish the step at once
        if manifest.get("finished"):
            log.info("%s: already finished", name)
            return FinishedStep(folder, fingerprint, manifest["facts"])
        if is_main_process():
            _finish(folder, {"step": name, "fingerprint": fingerprint, "inputs": json.loads(text)}, work)
        elif spread:
            work(folder)
        # Free the models of the step: the next one loads others, and both may not fit on a GPU.
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        wait_for_all(self.device)
        return FinishedStep(folder, fingerprint, _read(folder)["facts"])


def _finish(folder: Path, manifest: dict[str, Any], work: Work) -> None:
    """Run `work` and record its facts, time and versions in the manifest."""
    write_text(folder / MANIFEST, json.dumps(manifest | {"finished": False}, indent=2) + "\n")
    log.info("%s: started", manifest["step"])
    started = time.monotonic()
    facts = dict(work(folder))
    seconds = round(time.monotonic() - started, 1)
    manifest |= {"finished": True, "facts": facts, "seconds": seconds, "versions": library_versions()}
    write_text(folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    described = ", ".join([f"{seconds:.0f} s", *(f"{name} {value}" for name, value in facts.items())])
    log.info("%s: %s", manifest["step"], described)


def _read(folder: Path) -> dict[str, Any]:
    """Return the manifest in `folder`, empty if it is missing or unreadable."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}
