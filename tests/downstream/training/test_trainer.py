"""Budget, schedule, exact resume, validation, counted drops: on a model small enough to train in milliseconds."""

import json
import logging
import os
import random
import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from benchmark.core import progress
from benchmark.core.errors import UnwritableError, UserError
from benchmark.core.progress import CaptionedImage
from downstream.evaluation.protocols import Validate, Validated
from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import SampleOrder, TrainingData
from tests.downstream.tiny_models import CAPTIONS, MemorySubset, Recorder

CPU = torch.device("cpu")
SHOWN = CaptionedImage(Image.new("RGB", (4, 4)), "a cat", ("a dog",))
BROKEN = MemorySubset(CAPTIONS, broken={0: "image_unreadable", 6: "image_too_large"})


class Guess(nn.Module):
    """Guesses the caption's number from the mean colour, under dropout: its noise shows in every weight."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            layers = nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, len(CAPTIONS))
        self.layers = nn.Sequential(*layers)
        self.seen: list[int] = []
        self.modes: list[bool] = []

    def forward(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        self.seen += inputs["targets"].tolist()
        self.modes.append(self.training)
        loss = nn.functional.cross_entropy(self.layers(inputs["colours"]), inputs["targets"], reduction="sum")
        return loss, torch.tensor(len(inputs["targets"]))


def collate(samples: list) -> dict[str, torch.Tensor]:
    pixels = [torch.tensor(list(s.image.resize((2, 2)).tobytes()), dtype=torch.float32) for s in samples]
    targets = [CAPTIONS.index(sample.text) for sample in samples]
    return {"colours": torch.stack(pixels) / 32 - 4, "targets": torch.tensor(targets)}


def config(**changes: Any) -> TrainConfig:
    """Nine steps, the last of three samples."""
    given = {"samples_seen": 83, "batch_size": 10, "lr": 0.03, "log_every": 1, "workers": 0}
    return TrainConfig(**given | changes)


def fit(
    model: nn.Module,
    folder: Path,
    tracker: Recorder | None = None,
    subset: MemorySubset | None = None,
    fingerprint: str = "f",
    validate: Validate | None = None,
    **changes: Any,
) -> TrainReport:
    subset = MemorySubset(CAPTIONS) if subset is None else subset
    data = TrainingData(subset, SampleOrder.over(len(subset), seed=5), collate)
    trainer = Trainer("toy", config(**changes), CPU, tracker or Recorder(), validate=validate)
    return trainer.fit(model, data, folder, fingerprint)


def intrusive(model: nn.Module, seconds: float = 0.0) -> Validate:
    """A validation that draws random numbers and leaves the model in evaluation mode."""

    def validate() -> Validated:
        model.eval()
        torch.rand(3)
        time.sleep(seconds)
        return Validated({"accuracy": 0.5}, [SHOWN])

    return validate


def validated_at(tracker: Recorder) -> list[int]:
    return [step for step, row in tracker.rows if "toy/validation/accuracy" in row]


def same(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_workers_are_by_cores_where_images_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr("benchmark.core.launch._given_cores", None)
    by_default, given = TrainConfig(8, 8, 0.1), TrainConfig(8, 8, 0.1, workers=3)
    assert [of.workers_on(CPU, decodes) for of in (by_default, given) for decodes in (True, False)] == [
        2,
        0,
        3,
        3,
    ]


def test_budget_is_met_exactly_and_reported(tmp_path: Path) -> None:
    model, tracker = Guess(), Recorder()
    report = fit(model, tmp_path, tracker)
    assert len(model.seen) == 83
    assert (report.samples_seen, report.steps, report.epochs) == (83, 9, 10.375)
    assert report.samples_per_second == pytest.approx(83 / report.seconds)
    assert report.final_loss == tracker.losses()[-1] < tracker.losses()[0]
    assert report.losses == tuple((step, row["toy/loss"]) for step, row in tracker.rows)
    assert [step for step, _ in tracker.rows] == [*range(10, 81, 10), 83]
    assert [row["toy/lr"] for _, row in tracker.rows] == [config().lr_at(step) for step in range(9)]
    assert all(row["toy/samples_per_second"] > 0 for _, row in tracker.rows)
    assert (report.skipped, report.resumed_from) == ({}, None)


def test_progress_shows_no_loss_before_the_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY_SECONDS", 0.0)
    with caplog.at_level(logging.INFO):
        fit(Guess(), tmp_path, log_every=2)
    first, second = caplog.messages[:2]
    assert re.fullmatch(r"train \S+: 12%, \S+ left \(10 of 83 samples, [\d,.]+ samples/s\)", first)
    assert re.search(r"\(20 of 83 samples, [\d,.]+ samples/s, loss [\d.]+\)$", second)


def test_the_gradient_norm_is_that_before_clipping(tmp_path: Path) -> None:
    tracker = Recorder()
    fit(Guess(), tmp_path, tracker, max_grad_norm=1e-6)
    assert all(row["toy/gradient_norm"] > 1e-3 for _, row in tracker.rows)


def test_learning_rate_warms_up_and_falls_as_a_cosine() -> None:
    schedule = TrainConfig(samples_seen=1000, batch_size=10, lr=2.0, warmup_ratio=0.1)
    rates = [schedule.lr_at(step) for step in range(schedule.steps)]
    assert rates[:3] == pytest.approx([0.2, 0.4, 0.6])
    assert rates[9] == rates[10] == 2.0
    assert rates[55] == pytest.approx(1.0)  # half way down
    assert rates[-1] == pytest.approx(0.0, abs=1e-3)
    assert sorted(rates[10:], reverse=True) == rates[10:]
    for steps in (11, 100):  # a warm-up in steps is as long at any budget
        schedule = TrainConfig(10 * steps, batch_size=10, lr=2.0, warmup_ratio=0.5, warmup_steps=10)
        rates = [schedule.lr_at(step) for step in range(steps)]
        assert rates[:10] == pytest.approx([0.2 * step for step in range(1, 11)])
        assert sorted(rates[10:], reverse=True) == rates[10:]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"warmup_steps": 9}, r"warmup_steps=9 must be below the budget's 9 steps; choose"),
        ({"optimizer": "sgd"}, "optimizer=sgd must be adamw or lamb"),
        ({"validate_every": 0}, "must be a positive integer, or null"),
        ({"samples_seen": 0}, "samples_seen"),
        ({"batch_size": -1}, "batch_size"),
        ({"lr": 0.0}, "lr"),
        ({"warmup_ratio": 1.0}, "warmup_ratio"),
        ({"micro_batch": 0}, "micro_batch"),
    ],
)
def test_values_that_make_no_training_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        config(**changes)


@pytest.mark.parametrize("stopped_at", [10, 50, 83])
def test_stopped_and_started_again_ends_with_the_same_bits(tmp_path: Path, stopped_at: int) -> None:
    """Also the counts of skipped samples, and the validations."""
    whole, cut, resumed = Guess(), Guess(), Guess()
    trackers = Recorder(), Recorder(stop_at=stopped_at), Recorder()
    settings: dict[str, Any] = {"subset": BROKEN, "checkpoint_every": 20, "validate_every": 30}
    expected = fit(whole, tmp_path / "whole", trackers[0], validate=intrusive(whole), **settings)
    with pytest.raises(KeyboardInterrupt):
        fit(cut, tmp_path / "cut", trackers[1], validate=intrusive(cut), **settings)
    report = fit(resumed, tmp_path / "cut", trackers[2], validate=intrusive(resumed), **settings)
    assert same(whole, resumed)
    # The step is logged before its checkpoint is written: the last one is a step or two back.
    steps = 2 * ((stopped_at - 1) // 20)
    assert report.resumed_from == (steps or None)
    assert (report.losses, report.final_loss) == (expected.losses, expected.final_loss)
    # Ten whole epochs draw each of the eight ten times; the three positions left may draw them once more.
    assert report.skipped == expected.skipped
    assert report.skipped.keys() == {"image_unreadable", "image_too_large"}
    assert set(report.skipped.values()) <= {10, 11}
    assert validated_at(trackers[0]) == [30, 60, 83]
    assert validated_at(trackers[2]) == [step for step in (30, 60, 83) if step > 10 * steps]


def test_a_checkpoint_of_another_config_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(Guess(), tmp_path, Recorder(stop_at=50), checkpoint_every=20, fingerprint="one")
    assert fit(Guess(), tmp_path, checkpoint_every=20, fingerprint="other").resumed_from is None


def test_a_kill_during_a_checkpoint_leaves_the_previous_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = torch.save

    def full_disk(state: Any, path: Path) -> None:
        if "step-000000006" in str(path):
            path.write_bytes(b"half a file")
            raise OSError("no space left")
        saved(state, path)

    monkeypatch.setattr(torch, "save", full_disk)
    with pytest.raises(UnwritableError, match="the disk is full"):
        fit(Guess(), tmp_path, checkpoint_every=20)
    assert [path.name for path in tmp_path.iterdir()] == ["step-000000004"]
    monkeypatch.undo()
    assert fit(Guess(), tmp_path, checkpoint_every=20).resumed_from == 4


def test_only_the_newest_checkpoint_is_kept_without_frozen_parts(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    model = Guess()
    model.layers[0].requires_grad_(False)
    with pytest.raises(KeyboardInterrupt):
        fit(model, tmp_path, Recorder(stop_at=50), checkpoint_every=20)
    (folder,) = tmp_path.iterdir()
    assert folder.name == "step-000000004"
    assert set(load_file(folder / "model.safetensors")) == {"layers.3.weight", "layers.3.bias"}
    assert json.loads((folder / "state.json").read_text())["step"] == 4


def test_an_empty_batch_is_skipped_and_counted(tmp_path: Path) -> None:
    subset, model = MemorySubset(CAPTIONS[:2], broken={1: "image_unreadable"}), Guess()
    report = fit(model, tmp_path, subset=subset, batch_size=1, samples_seen=10)
    assert report.skipped == {"image_unreadable": 5}
    assert model.seen == [0] * 5
    assert report.steps == 10


def test_trainings_that_cannot_be_are_errors(tmp_path: Path) -> None:
    unreadable = MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing"))
    with pytest.raises(UserError, match=r"no sample of the subset can be read \(83 image_missing\)"):
        fit(Guess(), tmp_path, subset=unreadable)
    with pytest.raises(UserError, match="empty"):
        fit(Guess(), tmp_path, subset=MemorySubset([]))
    with pytest.raises(UserError, match="must be that of all models"):
        fit(Guess(), tmp_path, source="stream")
    with pytest.raises(UserError, match="lower training"):
        fit(Guess(), tmp_path, lr=1e38, max_grad_norm=1e38, warmup_ratio=0.0)


def test_validation_happens_every_n_samples_and_changes_nothing(tmp_path: Path) -> None:
    plain, validated, trackers = Guess(), Guess(), [Recorder() for _ in range(2)]
    fit(plain, tmp_path / "plain", trackers[0], validate=intrusive(plain))
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    fit(validated, tmp_path / "validated", trackers[1], validate=intrusive(validated), validate_every=25)
    assert validated_at(trackers[0]) == []
    assert validated_at(trackers[1]) == [30, 50, 80, 83]
    assert trackers[1].captions == [(step, [SHOWN]) for step in (30, 50, 80, 83)]
    assert trackers[0].losses() == trackers[1].losses()
    assert same(plain, validated)
    assert validated.modes == [True] * 9
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002


def test_its_seconds_are_none_of_the_trainings(tmp_path: Path) -> None:
    model, started = Guess(), time.monotonic()
    report = fit(model, tmp_path, validate=intrusive(model, seconds=0.2), validate_every=40)
    assert (
        report.seconds < time.monotonic() - started - 0.4
    )  # at 40 and at 80; the last follows the last step


def test_no_set_to_validate_on_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fit(Guess(), tmp_path, validate_every=40)
    assert "toy: not validated, as there is nothing to validate it on" in caplog.text
