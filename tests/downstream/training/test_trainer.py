"""Budget, schedule, exact resume, counted drops: on a model small enough to train in milliseconds."""

import json
import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from benchmark.core import progress
from benchmark.core.errors import UnwritableError, UserError
from downstream.evaluation.protocols import Validate
from downstream.training.stepper import make_optimizer
from downstream.training.train_report import TrainReport
from downstream.training.trainer import TrainConfig, Trainer
from downstream.training.training_data import SampleOrder, TrainingData
from tests.downstream.tiny_models import CAPTIONS, MemorySubset, Recorder

CPU = torch.device("cpu")


class Guess(nn.Module):
    """Guesses the caption's number from the mean colour, under dropout: its noise shows in every weight."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layers = nn.Sequential(
                nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, len(CAPTIONS))
            )
        self.seen: list[int] = []

    def forward(self, inputs: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
        self.seen += inputs["targets"].tolist()
        loss = nn.functional.cross_entropy(self.layers(inputs["colours"]), inputs["targets"], reduction="sum")
        return loss, torch.tensor(len(inputs["targets"]))


def collate(samples: list) -> dict[str, torch.Tensor]:
    pixels = [torch.tensor(list(s.image.resize((2, 2)).tobytes()), dtype=torch.float32) for s in samples]
    targets = [CAPTIONS.index(sample.text) for sample in samples]
    return {"colours": torch.stack(pixels) / 32 - 4, "targets": torch.tensor(targets)}


def config(**changes: Any) -> TrainConfig:
    return TrainConfig(
        **{"samples_seen": 203, "batch_size": 10, "lr": 0.03, "log_every": 1, "workers": 0} | changes
    )


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


def test_workers_are_by_cores_where_images_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr("benchmark.core.launch._given_cores", None)
    by_default, given = TrainConfig(8, 8, 0.1), TrainConfig(8, 8, 0.1, workers=3)
    assert (by_default.workers_on(CPU), given.workers_on(CPU)) == (2, 3)
    assert (by_default.workers_on(CPU, decodes=False), given.workers_on(CPU, decodes=False)) == (0, 3)


def weights(model: nn.Module) -> list[torch.Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_budget_is_met_exactly_and_reported(tmp_path: Path) -> None:
    model, tracker = Guess(), Recorder()
    report = fit(model, tmp_path, tracker)
    assert len(model.seen) == 203
    assert (report.samples_seen, report.steps, report.epochs) == (203, 21, 25.375)
    assert report.samples_per_second == pytest.approx(203 / report.seconds)
    assert report.final_loss == tracker.losses()[-1]
    assert min(tracker.losses()[-5:]) < 0.8 * tracker.losses()[0]
    assert [step for step, _ in tracker.rows] == [*range(10, 201, 10), 203]
    assert report.skipped == {}
    assert report.resumed_from is None


def test_progress_shows_no_loss_before_the_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "LOG_EVERY_SECONDS", 0.0)
    with caplog.at_level(logging.INFO):
        fit(Guess(), tmp_path, log_every=2)
    first, second = caplog.messages[:2]
    assert re.fullmatch(r"train \S+: 4%, \S+ left \(10 of 203 samples, [\d,.]+ samples/s\)", first)
    assert re.search(r"\(20 of 203 samples, [\d,.]+ samples/s, loss [\d.]+\)$", second)


def test_learning_rate_warms_up_and_falls_as_a_cosine() -> None:
    schedule = TrainConfig(samples_seen=1000, batch_size=10, lr=2.0, warmup_ratio=0.1)
    rates = [schedule.lr_at(step) for step in range(schedule.steps)]
    assert rates[:3] == pytest.approx([0.2, 0.4, 0.6])
    assert rates[9] == rates[10] == 2.0
    assert rates[55] == pytest.approx(1.0)  # half way down
    assert rates[-1] == pytest.approx(0.0, abs=1e-3)
    assert sorted(rates[10:], reverse=True) == rates[10:]


@pytest.mark.parametrize("steps", [11, 100, 1000])
def test_a_warm_up_in_steps_is_as_long_at_any_budget(steps: int) -> None:
    schedule = TrainConfig(samples_seen=10 * steps, batch_size=10, lr=2.0, warmup_ratio=0.5, warmup_steps=10)
    rates = [schedule.lr_at(step) for step in range(steps)]
    assert rates[:10] == pytest.approx([0.2 * step for step in range(1, 11)])
    assert sorted(rates[10:], reverse=True) == rates[10:]


def test_a_warm_up_that_never_ends_is_refused() -> None:
    with pytest.raises(UserError, match=r"warmup_steps=10 must be below the budget's 10 steps; choose"):
        TrainConfig(samples_seen=95, batch_size=10, lr=2.0, warmup_steps=10)


def test_the_schedule_is_what_the_optimizer_gets(tmp_path: Path) -> None:
    tracker = Recorder()
    fit(Guess(), tmp_path, tracker)
    assert [row["toy/lr"] for _, row in tracker.rows] == [config().lr_at(step) for step in range(21)]


def test_a_part_of_the_model_has_its_own_learning_rate() -> None:
    model = torch.nn.ModuleDict({"encoder": torch.nn.Linear(2, 2), "decoder": torch.nn.Linear(2, 2)})
    optimizer = make_optimizer(model, "adamw", 0.03, weight_decay=0.1, lr_ratios={"encoder.": 0.5})
    found = {
        id(parameter): (group["lr"], group["lr_ratio"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    rates = {name: found[id(parameter)] for name, parameter in model.named_parameters()}
    assert rates == {
        "encoder.weight": (0.015, 0.5, 0.1),
        "encoder.bias": (0.015, 0.5, 0.0),
        "decoder.weight": (0.03, 1.0, 0.1),
        "decoder.bias": (0.03, 1.0, 0.0),
    }


def test_lamb_moves_a_matrix_by_lr_times_its_norm() -> None:
    layer = Guess().layers[0]
    optimizer = make_optimizer(layer, "lamb", lr=0.03, weight_decay=0.0)
    before = [p.detach().clone() for p in (layer.weight, layer.bias)]
    layer(torch.ones(2, 12)).square().sum().backward()
    optimizer.step()
    moved = (layer.weight - before[0]).norm() / before[0].norm()
    assert moved.item() == pytest.approx(
        0.03, rel=1e-4
    )  # trust ratio |w| / |update| (You et al. 2020, Algorithm 2)
    # Adam's first step is the rate itself, whatever the gradient: vectors have no trust ratio.
    assert (layer.bias - before[1]).abs().detach().numpy() == pytest.approx(0.03, rel=1e-4)


def test_an_unknown_optimizer_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(UserError, match="optimizer=sgd must be adamw or lamb"):
        config(optimizer="sgd")


@pytest.mark.parametrize("stopped_at", [30, 110, 203])
def test_stopped_and_started_again_ends_with_the_same_bits(tmp_path: Path, stopped_at: int) -> None:
    whole = Guess()
    expected = fit(whole, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        fit(Guess(), tmp_path / "cut", Recorder(stop_at=stopped_at), checkpoint_every=20)
    resumed = Guess()
    report = fit(resumed, tmp_path / "cut", checkpoint_every=20)
    assert same(weights(whole), weights(resumed))
    assert report.final_loss == expected.final_loss
    # The step is logged before its checkpoint is written: the last one is a step or two back.
    assert report.resumed_from == 2 * ((stopped_at - 1) // 20)
    assert len(resumed.seen) == 203 - 10 * report.resumed_from


def test_resume_goes_on_counting(tmp_path: Path) -> None:
    subset = MemorySubset(CAPTIONS, broken={0: "image_unreadable", 6: "image_too_large"})
    expected = fit(Guess(), tmp_path / "whole", subset=subset)
    with pytest.raises(KeyboardInterrupt):
        fit(Guess(), tmp_path / "cut", Recorder(stop_at=100), subset=subset, checkpoint_every=30)
    report = fit(Guess(), tmp_path / "cut", subset=subset, checkpoint_every=30)
    assert report.resumed_from == 9
    assert report.skipped == expected.skipped
    # 25 whole epochs draw each of the eight 25 times; the three positions left may draw them once more.
    assert report.skipped.keys() == {"image_unreadable", "image_too_large"}
    assert all(count in {25, 26} for count in report.skipped.values())


def test_a_checkpoint_of_another_config_is_not_used(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        fit(Guess(), tmp_path, Recorder(stop_at=100), checkpoint_every=20, fingerprint="one")
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
        fit(Guess(), tmp_path / "cut", checkpoint_every=20)
    assert [path.name for path in (tmp_path / "cut").iterdir()] == ["step-000000004"]
    monkeypatch.undo()
    resumed, whole = Guess(), Guess()
    assert fit(resumed, tmp_path / "cut", checkpoint_every=20).resumed_from == 4
    fit(whole, tmp_path / "whole")
    assert same(weights(whole), weights(resumed))


def test_only_the_newest_checkpoint_is_kept_without_frozen_parts(tmp_path: Path) -> None:
    model = Guess()
    model.layers[0].requires_grad_(False)
    with pytest.raises(KeyboardInterrupt):
        fit(model, tmp_path, Recorder(stop_at=150), checkpoint_every=20)
    (folder,) = tmp_path.iterdir()
    assert folder.name == "step-000000014"
    from safetensors.torch import load_file

    assert set(load_file(folder / "model.safetensors")) == {"layers.3.weight", "layers.3.bias"}
    assert json.loads((folder / "state.json").read_text())["step"] == 14


def test_an_empty_batch_is_skipped_and_counted(tmp_path: Path) -> None:
    # Three of four batches hold only one sample of the two, the broken one among them.
    subset = MemorySubset(CAPTIONS[:2], broken={1: "image_unreadable"})
    model = Guess()
    report = fit(model, tmp_path, subset=subset, batch_size=1, samples_seen=10)
    assert report.skipped == {"image_unreadable": 5}
    assert model.seen == [0] * 5
    assert report.steps == 10


def test_a_subset_that_cannot_be_read_at_all_is_an_error(tmp_path: Path) -> None:
    subset = MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing"))
    with pytest.raises(UserError, match=r"no sample of the subset can be read \(203 image_missing\)"):
        fit(Guess(), tmp_path, subset=subset)
    with pytest.raises(UserError, match="empty"):
        fit(Guess(), tmp_path, subset=MemorySubset([]))


def test_a_diverging_loss_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="lower training"):
        fit(Guess(), tmp_path, lr=1e38, max_grad_norm=1e38, warmup_ratio=0.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [("samples_seen", 0), ("batch_size", -1), ("lr", 0.0), ("warmup_ratio", 1.0), ("micro_batch", 0)],
)
def test_values_that_make_no_training_are_refused(name: str, value: float) -> None:
    with pytest.raises(UserError, match=name):
        config(**{name: value})
