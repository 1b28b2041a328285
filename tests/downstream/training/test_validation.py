"""Validation during training: when it happens, and that it changes nothing."""

import random
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.errors import UserError
from benchmark.core.progress import CaptionedImage
from downstream.evaluation.protocols import Validate, Validated
from tests.downstream.tiny_models import Recorder
from tests.downstream.training.test_trainer import Guess, config, fit, same, weights

SHOWN = CaptionedImage(Image.new("RGB", (4, 4)), "a cat", ("a dog",))


def intrusive(model: Guess, seconds: float = 0.0) -> Validate:
    """A validation that draws random numbers and leaves the model in evaluation mode."""

    def validate() -> Validated:
        model.eval()
        torch.rand(3)
        time.sleep(seconds)
        return Validated({"accuracy": 0.5}, [SHOWN])

    return validate


def validated_at(tracker: Recorder) -> list[int]:
    return [step for step, row in tracker.rows if "toy/validation/accuracy" in row]


def test_losses_and_weights_are_those_without_it(tmp_path: Path) -> None:
    plain, validated = Guess(), Guess()
    trackers = Recorder(), Recorder()
    fit(plain, tmp_path / "plain", trackers[0])
    fit(validated, tmp_path / "validated", trackers[1], validate=intrusive(validated), validate_every=50)
    assert trackers[0].losses() == trackers[1].losses()
    assert same(weights(plain), weights(validated))


def test_it_happens_every_n_samples_and_at_the_end(tmp_path: Path) -> None:
    model, tracker = Guess(), Recorder()
    fit(model, tmp_path, tracker, validate=intrusive(model), validate_every=45)
    assert validated_at(tracker) == [50, 90, 140, 180, 203]
    assert tracker.captions == [(step, [SHOWN]) for step in (50, 90, 140, 180, 203)]
    without = Recorder()
    fit(model, tmp_path / "never", without, validate=intrusive(model))
    assert validated_at(without) == []


def test_generators_and_training_mode_are_restored(tmp_path: Path) -> None:
    model = Guess()
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    modes: list[bool] = []
    model.register_forward_hook(lambda module, *_: modes.append(module.training))
    fit(model, tmp_path, validate=intrusive(model), validate_every=10)
    assert modes == [True] * 21
    assert torch.equal(before[0], torch.get_rng_state())
    assert before[1:] == (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002


def test_its_seconds_are_none_of_the_trainings(tmp_path: Path) -> None:
    model = Guess()
    started = time.monotonic()
    report = fit(model, tmp_path, validate=intrusive(model, seconds=0.2), validate_every=100)
    assert (
        report.seconds < time.monotonic() - started - 0.4
    )  # at 100 and at 200; the last follows the last step


def test_a_resumed_training_is_validated_as_the_whole(tmp_path: Path) -> None:
    whole, cut, resumed = Guess(), Guess(), Guess()
    trackers = Recorder(), Recorder(stop_at=110), Recorder()
    fit(whole, tmp_path / "whole", trackers[0], validate=intrusive(whole), validate_every=40)
    settings = {"validate_every": 40, "checkpoint_every": 20}
    with pytest.raises(KeyboardInterrupt):
        fit(cut, tmp_path / "cut", trackers[1], validate=intrusive(cut), **settings)
    fit(resumed, tmp_path / "cut", trackers[2], validate=intrusive(resumed), **settings)
    assert validated_at(trackers[1]) == [40, 80]
    assert validated_at(trackers[2]) == [120, 160, 200, 203]
    assert same(weights(whole), weights(resumed))


def test_no_set_to_validate_on_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    fit(Guess(), tmp_path, validate_every=40)
    assert "toy: not validated, as there is nothing to validate it on" in caplog.text


@pytest.mark.parametrize("every", [0, -5])
def test_a_distance_must_be_positive(every: int) -> None:
    with pytest.raises(UserError, match="must be a positive integer, or null"):
        config(validate_every=every)


def test_curves_have_rate_and_gradient_norm(tmp_path: Path) -> None:
    tracker = Recorder()
    fit(Guess(), tmp_path, tracker, max_grad_norm=1e-6)
    for _, row in tracker.rows:
        assert row["toy/samples_per_second"] > 0
        assert row["toy/gradient_norm"] > 1e-3  # before it is clipped
