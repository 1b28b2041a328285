"""Checkpoints of a training, written atomically."""

import json
import logging
import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from accelerate.utils import gather_object
from safetensors.torch import load_file, save_file
from torch import nn

from benchmark.core.cached_files import intact
from benchmark.core.distributed import broadcast_from_main, copy_from_main
from benchmark.core.launch import is_main_process
from benchmark.core.paths import atomic_folder, write_text
from benchmark.core.records import json_text

log = logging.getLogger(__name__)


@dataclass
class TrainState:
    """The progress of a training: steps done, seconds so far, logged losses, skipped samples by reason."""

    step: int = 0
    seconds: float = 0.0
    losses: list[tuple[int, float]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    tar: str = ""  # of a stream's last skipped sample

    def over_processes(self) -> "TrainState":
        """Return the state with the skipped samples of all processes."""
        skipped, tars = zip(*gather_object([(self.skipped, self.tar)]), strict=True)
        return replace(self, skipped=sum(skipped, Counter()), tar=max(tars))


def _changing_tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Return the tensors that training changes: trainable parameters and buffers, no frozen tower."""
    tensors = {name: p.data for name, p in model.named_parameters() if p.requires_grad}
    return tensors | dict(model.named_buffers())


def save_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, state: TrainState, fingerprint: str
) -> None:
    """Write ``folder/step-N`` atomically, then delete older checkpoints."""
    older = list(folder.glob("step-*"))
    newest = folder / f"step-{state.step:09d}"
    with atomic_folder(newest) as temporary:
        tensors = {name: tensor.contiguous() for name, tensor in _changing_tensors(model).items()}
        save_file(tensors, temporary / "model.safetensors")
        torch.save(optimizer.state_dict(), temporary / "optimizer.pt")
        write_text(temporary / "state.json", json_text({"fingerprint": fingerprint, **vars(state)}))
    for path in older:
        if path != newest:
            shutil.rmtree(path)


def load_checkpoint(
    folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer, fingerprint: str, device: torch.device
) -> TrainState:
    """Load the main process's newest checkpoint of `fingerprint` in every process; without one, start at step 0."""
    steps = [path.name for path in folder.glob("step-*") if is_main_process() and intact(path)]
    step = broadcast_from_main(max(steps, default=""), device)
    if not step:
        return TrainState()
    newest = folder / step
    for older in set(folder.glob("step-*")) - {newest}:  # copies of an earlier launch
        shutil.rmtree(older, ignore_errors=True)
    copy_from_main([newest / name for name in ("model.safetensors", "optimizer.pt", "state.json")], device)
    state = json.loads((newest / "state.json").read_text(encoding="utf-8"))
    if state.pop("fingerprint") != fingerprint:
        log.info("%s is a checkpoint of another config: starting from step 0", newest)
        return TrainState()
    saved = load_file(newest / "model.safetensors")
    current = _changing_tensors(model)
    assert saved.keys() == current.keys(), f"{newest} is a checkpoint of another model"
    with torch.no_grad():
        for name, tensor in current.items():
            tensor.copy_(saved[name])
    optimizer.load_state_dict(torch.load(newest / "optimizer.pt", weights_only=True, map_location="cpu"))
    losses = [(seen, loss) for seen, loss in state["losses"]]
    return TrainState(**state | {"losses": losses, "skipped": Counter(state["skipped"])})
