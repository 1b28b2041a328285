"""Run by the tests under torchrun: trains tiny models, one after the other, and prints their reports as JSON.

Usage: launched.py CHECKPOINTS FOLDER MODEL..., where CHECKPOINTS is a `Checkpoints` as JSON
"""

import json
import os
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import (
    CAPTIONS,
    UNLOCKED,
    Checkpoints,
    MemorySubset,
    Recorder,
    SummedCaptions,
    make,
)

MODELS = ("captioner in parts", "locked", "ds_clip", "clip_scratch", "summed", "summed in parts")


def train(model: str, tiny: Checkpoints, folder: Path) -> TrainReport:
    """Train a kind of `make`, or one below; a model "in parts" computes two samples at a time."""
    kind, _, in_parts = model.partition(" ")
    # Three samples cannot be read: ranks get batches of different sizes, the last one leaves a rank with none.
    broken = {1: "image_unreadable", 2: "image_unreadable", 5: "image_too_large"}
    subset, settings = MemorySubset(CAPTIONS, broken), dict[str, Any]()
    training = TrainConfig(61, batch_size=6, lr=3e-3, log_every=1, micro_batch=2 if in_parts else None)
    if kind == "summed":  # one pair in two has the second caption, so that a rank may have none
        kind = "unlocked" if in_parts else "locked"
        subset = SummedCaptions(CAPTIONS, broken, caption_weights=(1.0, 0.5))
    if kind == "ds_clip":  # draws that take turns, one of two captions a view, augmented images, LAMB
        turns = (0, 1, 2, 3, 4), (4, 5, 6, 7, 0)
        subset = MemorySubset(CAPTIONS, broken, others=("some square",), drawn=turns)
        training = replace(training, optimizer="lamb", weight_decay=0.2)
        kind, settings = "unlocked", {"unlocked": replace(UNLOCKED, pretrained=False, augment=True)}
    if kind == "clip_scratch":  # as in its recipe: biases of keys have gradients of rounding
        training = replace(training, epsilon=1e-6)
    made = make(kind, tiny, training, **settings)
    report: TrainReport = made.train(subset, folder / model, torch.device("cpu"), Recorder(), "f")
    return report


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[3:]:
        trained = train(name, Checkpoints(**json.loads(sys.argv[1])), Path(sys.argv[2]))
        if os.environ["RANK"] == "0":
            print(json.dumps(asdict(trained)), flush=True)
