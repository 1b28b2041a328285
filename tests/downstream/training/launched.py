"""Run by the tests as its own process: trains tiny models, one after the other.

Under torchrun all are trained by its processes; else each has a process of its own, forked from one that has imported
the libraries, which takes longer than to train all of them.

Usage: launched.py TRAININGS, a JSON list of `Training`
"""

import json
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from downstream.models.captioner import Captioner
from downstream.models.clip_scratch import ClipScratch
from downstream.models.dual_encoder import DualEncoder
from downstream.models.lstm_captioner import LstmCaptioner
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import CAPTIONS, UNLOCKED, Checkpoints, MemorySubset, SummedCaptions


@dataclass(frozen=True)
class Training:
    """One training of a launch.

    Args:
        name: of this training among those of its launch.
        model: one of those below.
        checkpoints: folders of the tiny models, as `Checkpoints` has them.
        folder: where the training leaves its model.
        samples: budget.
        kill_at: samples after which the process is killed, null for never.
    """

    name: str
    model: str
    checkpoints: dict[str, str]
    folder: str
    samples: int
    kill_at: int | None = None


class Log:
    """Prints losses; dies by the signal that cannot be caught."""

    def __init__(self, name: str, kill_at: int | None) -> None:
        self.name = name
        self.kill_at = kill_at

    def log(self, values: Mapping[str, float], step: int | None = None) -> None:
        print(json.dumps({"name": self.name, **values}), flush=True)
        if self.kill_at is not None and step is not None and step >= self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def finish(self, result: Mapping[str, Any]) -> None:
        """Do nothing."""


def train(given: Training) -> None:
    model, tiny = given.model, Checkpoints(**given.checkpoints)
    # Three samples cannot be read: ranks get batches of different sizes, the last one leaves a rank with none.
    broken = {1: "image_unreadable", 2: "image_unreadable", 5: "image_too_large"}
    subset = MemorySubset(CAPTIONS, broken)
    training = TrainConfig(given.samples, batch_size=6, lr=3e-3, checkpoint_every=12, log_every=1)
    if model.startswith("summed"):  # one pair in two has the second caption, so that a rank may have none
        subset = SummedCaptions(CAPTIONS, broken, caption_weights=(1.0, 0.5))
    if model == "ds_clip":  # draws that take turns, one of two captions a view, augmented images, LAMB
        subset = MemorySubset(
            CAPTIONS, broken, others=("some square",), drawn=((0, 1, 2, 3, 4), (4, 5, 6, 7, 0))
        )
        training = replace(training, optimizer="lamb", weight_decay=0.2)
    if model.startswith("clip_scratch"):  # as in its recipe: biases of keys have gradients of rounding alone
        training = replace(training, epsilon=1e-6)
    unlocked = replace(UNLOCKED, pretrained=False, augment=True)
    in_parts = replace(training, micro_batch=2)
    build = {
        "captioner": lambda: Captioner(tiny.swin, tiny.gpt2, training, 16, 3, 12, 5),
        "lstm": lambda: LstmCaptioner(tiny.swin, training, 32, 0.0, 1, 10, 2, 5),
        "locked": lambda: DualEncoder(tiny.vit, tiny.bert, training, True, True, 16, 5, UNLOCKED),
        "unlocked": lambda: DualEncoder(tiny.vit, tiny.bert, training, False, False, 16, 5, UNLOCKED),
        "captioner in parts": lambda: Captioner(tiny.swin, tiny.gpt2, in_parts, 16, 3, 12, 5),
        "locked in parts": lambda: DualEncoder(tiny.vit, tiny.bert, in_parts, True, True, 16, 5, UNLOCKED),
        "unlocked in parts": lambda: DualEncoder(
            tiny.vit, tiny.bert, in_parts, False, False, 16, 5, UNLOCKED
        ),
        "summed": lambda: DualEncoder(tiny.vit, tiny.bert, training, True, True, 16, 5, UNLOCKED),
        "summed in parts": lambda: DualEncoder(tiny.vit, tiny.bert, in_parts, False, False, 16, 5, UNLOCKED),
        "clip_scratch": lambda: ClipScratch(tiny.clip, training, 5),
        "clip_scratch in parts": lambda: ClipScratch(tiny.clip, in_parts, 5),
        "ds_clip": lambda: DualEncoder(tiny.vit, tiny.bert, training, False, False, 16, 5, unlocked),
    }
    tracker = Log(given.name, given.kill_at)
    report = build[model]().train(subset, Path(given.folder), torch.device("cpu"), tracker, "f")
    if os.environ.get("RANK", "0") == "0":
        last = {"name": given.name, "skipped": report.skipped, "resumed_from": report.resumed_from}
        print(json.dumps(last), flush=True)


def train_in_a_fork(given: Training) -> None:
    """Print how its process ended, below 0 for a signal."""
    if (process := os.fork()) == 0:
        status = 1
        try:
            train(given)
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    _, ended = os.waitpid(process, 0)
    print(json.dumps({"name": given.name, "ended": os.waitstatus_to_exitcode(ended)}), flush=True)


def import_before_the_forks() -> None:
    """Import what trainings import when they first use it: each of them would again, for seconds."""
    import timm.optim  # noqa: F401
    from transformers import (  # noqa: F401
        AutoImageProcessor,
        AutoTokenizer,
        BertModel,
        GPT2LMHeadModel,
        SwinModel,
        VisionEncoderDecoderModel,
        ViTModel,
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        import_before_the_forks()
    for training in json.loads(sys.argv[1]):
        (train if "RANK" in os.environ else train_in_a_fork)(Training(**training))
