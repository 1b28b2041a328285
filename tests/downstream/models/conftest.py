"""Models of every kind that know four pairs by heart, each trained once for all tests that only read it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from downstream.training.train_report import TrainReport
from tests.downstream.tiny_models import CAPTIONS, Checkpoints, MemorySubset, Recorder, make, six_steps

FOUR = [CAPTIONS[index] for index in (0, 3, 4, 5)]
LEARNT = {
    "captioner": six_steps(samples_seen=360, batch_size=4, lr=5e-3),
    "lstm_captioner": six_steps(samples_seen=480, batch_size=4, lr=1e-2),
    "locked": six_steps(samples_seen=240, batch_size=4, lr=1e-2),
    "unlocked": six_steps(samples_seen=480, batch_size=4, lr=1e-3),
    "clip_scratch": six_steps(samples_seen=100, batch_size=4, lr=5e-3),
}


@dataclass(frozen=True)
class Trained:
    """A model that has learnt four pairs, the folder of its training, its report and its losses."""

    model: Any
    folder: Path
    report: TrainReport
    losses: list[float]


@pytest.fixture(scope="session")
def trained(
    without_dropout: Checkpoints, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Trained]:
    @cache
    def train(kind: str) -> Trained:
        model, tracker = make(kind, without_dropout, LEARNT[kind]), Recorder()
        folder = tmp_path_factory.mktemp(kind)
        report = model.train(MemorySubset(FOUR), folder, torch.device("cpu"), tracker, "fingerprint")
        return Trained(model, folder, report, tracker.losses())

    return train
