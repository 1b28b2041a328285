"""Checkpoints that are whole or absent, and the marker of a finished training."""

import json
import logging
import math
import shutil
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from benchmark.core.paths import atomic_folder, write_text

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainReport:
    """What a training did.

    `samples_seen` is the budget: every sample drawn, also the `skipped` ones (counted by reason, once per draw).
    `seconds` covers the steps of all sittings, not the embedding of images before them. `resumed_from` is the step
    that a killed training went on from, None if it was not.
    """

    samples_seen: int
    steps: int
    seconds: float
    samples_per_second: float
    epochs: float
    skipped: dict[str, int]
    final_loss: float
    resumed_from: int | None = None


@dataclass
class Progressed:
    """How far a training is, with the last loss it logged."""

    step: int = 0
    seconds: float = 0.0
    loss: float = math.nan
    skipped: Counter[str] = field(default_factory=Counter)


def _changing_tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return what training changes: trainable parameters and buffers; a frozen tower is not written."""
    tensors = {name: p.data for name, p in model.named_parameters() if p.requires_grad}
    return tensors | dict(model.named_buffers())


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progressed: Progressed, fingerprint: str
) -> None:
    """Write ``folder/step-N`` whole, then delete the older ones."""
    older = list(folder.glob("step-*"))
    with atomic_folder(folder / f"step-{progressed.step:09d}") as temporary:
        tensors = {name: tensor.contiguous() for name, tensor in _changing_tensors(model).items()}
        save_file(tensors, temporary / "model.safetensors")
        torch.save(optimizer.state_dict(), temporary / "optimizer.pt")
        state = {"fingerprint": fingerprint, **vars(progressed)}
        write_text(temporary / "state.json", json.dumps(state))
    for path in older:
        if path.name != f"step-{progressed.step:09d}":
            shutil.rmtree(path)


def load_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, fingerprint: str
) -> Progressed:
    """Load the newest checkpoint of `fingerprint` into `model` and `optimizer`; start at 0 if there is none."""
    newest = max(folder.glob("step-*"), default=None)
    if newest is None:
        return Progressed()
    state = json.loads((newest / "state.json").read_text(encoding="utf-8"))
    if state.pop("fingerprint") != fingerprint:
        log.info("%s is a checkpoint of another config: starting anew", newest)
        return Progressed()
    saved = load_file(newest / "model.safetensors")
    current = _changing_tensors(model)
    assert saved.keys() == current.keys(), f"{newest} is a checkpoint of another model"
    with torch.no_grad():
        for name, tensor in current.items():
            tensor.copy_(saved[name])
    optimizer.load_state_dict(torch.load(newest / "optimizer.pt", weights_only=True, map_location="cpu"))
    return Progressed(**state | {"skipped": Counter(state["skipped"])})


def finished(folder: Path, fingerprint: str) -> TrainReport | None:
    """Return the report of a training that finished in `folder` under `fingerprint`, None otherwise."""
    path = folder / "finished.json"
    if not path.exists():
        return None
    marker = json.loads(path.read_text(encoding="utf-8"))
    return TrainReport(**marker["report"]) if marker["fingerprint"] == fingerprint else None


def mark_finished(folder: Path, fingerprint: str, report: TrainReport) -> None:
    """Say that the training in `folder` is done: from here on it is not repeated."""
    marker = {"fingerprint": fingerprint, "report": asdict(report)}
    write_text(folder / "finished.json", json.dumps(marker, indent=2))
