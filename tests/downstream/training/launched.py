"""Run by the tests as its own process, alone or under torchrun: trains tiny models, one after the other.

Usage: launched.py MODEL,MODEL,... CHECKPOINTS FOLDER SAMPLES [kill after this many samples]
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import CAPTIONS, UNLOCKED, Checkpoints, MemorySubset


class Log:
    """Prints losses; dies by the signal that cannot be caught."""

    def __init__(self, model: str, kill_at: int | None) -> None:
        self.model = model
        self.kill_at = kill_at

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        print(json.dumps({"model": self.model, **values}), flush=True)
        if self.kill_at is not None and step is not None and step >= self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Do nothing."""


def train(model: str, checkpoints: str, run_dir: Path, samples: str, kill_at: str | None = None) -> None:
    tiny = Checkpoints(**json.loads(checkpoints))
    # Three samples cannot be read: ranks get batches of different sizes, the last one leaves a rank with none.
    broken = {1: "image_unreadable", 2: "image_unreadable", 5: "image_too_large"}
    subset = MemorySubset(CAPTIONS, broken)
    training = TrainConfig(int(samples), batch_size=6, lr=3e-3, checkpoint_every=12, log_every=1)
    if model == "ds_clip":  # draws that take turns, one of two captions a view, augmented images, LAMB
        subset = MemorySubset(
            CAPTIONS, broken, others=("some square",), drawn=((0, 1, 2, 3, 4), (4, 5, 6, 7, 0))
        )
        training = replace(training, optimizer="lamb", weight_decay=0.2)
    unlocked = replace(UNLOCKED, pretrained=False, augment=True)
    build = {
        "captioner": lambda: Captioner(tiny.swin, tiny.gpt2, training, 16, 3, 12, 5),
        "locked": lambda: DualEncoder(tiny.vit, tiny.bert, training, True, True, 16, 5, UNLOCKED),
        "unlocked": lambda: DualEncoder(tiny.vit, tiny.bert, training, False, False, 16, 5, UNLOCKED),
        "ds_clip": lambda: DualEncoder(tiny.vit, tiny.bert, training, False, False, 16, 5, unlocked),
    }
    tracker = Log(model, int(kill_at) if kill_at else None)
    report = build[model]().train(subset, run_dir, torch.device("cpu"), tracker, "f")
    if os.environ.get("RANK", "0") == "0":
        print(json.dumps({"model": model, "skipped": report.skipped, "resumed_from": report.resumed_from}))


if __name__ == "__main__":
    torch.set_num_threads(1)
    models, given, folder, *rest = sys.argv[1:]
    for name in models.split(","):
        train(name, given, Path(folder, name), *rest)
