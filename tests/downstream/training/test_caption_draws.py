"""Training with several captions of a sample: which one is drawn, whoever draws it."""

from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Sample
from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder
from downstream.training.batch_loader import loader
from downstream.training.trainer import TrainConfig
from downstream.training.training_data import SampleOrder, StepBatches, TrainingData, draw_caption
from tests.downstream.tiny_models import CAPTIONS, UNLOCKED, Checkpoints, MemorySubset, Recorder, draw

CPU = torch.device("cpu")
OTHERS = ("a square", "something red")


class ManyCaptions(MemorySubset):
    """Every second sample has two other captions."""

    def __getitem__(self, index: int, /) -> Sample:
        sample = super().__getitem__(index)
        return sample if index % 2 else replace(sample, others=OTHERS)


def texts(
    subset: MemorySubset, budget: int, batch_size: int, workers: int = 0, ranks: int = 1
) -> list[list[str]]:
    """The captions of each step, over all ranks."""
    drawn: list[list[str]] = []

    def collate(samples: list[Sample]) -> dict[str, torch.Tensor]:
        return {"text": torch.tensor([list(s.text.ljust(32).encode()) for s in samples])}

    data = TrainingData(subset, SampleOrder.over(len(subset), seed=3), collate)
    steps = range(-(-budget // batch_size))
    shares = [
        loader(StepBatches(data, budget, batch_size, r, ranks), steps, workers, CPU) for r in range(ranks)
    ]
    for batches in zip(*shares, strict=True):
        rows = [row for batch in batches for row in batch.inputs["text"].tolist()]
        drawn.append([bytes(row).decode().strip() for row in rows])
    return drawn


def test_every_caption_is_as_likely_as_any_other() -> None:
    sample = Sample("0" * 32, "own", draw(CAPTIONS[0]), ("second", "third"))
    drawn = Counter(draw_caption(sample, 0, position).text for position in range(6000))
    chi_squared = sum((count - 2000) ** 2 / 2000 for count in drawn.values())
    assert drawn.keys() == {"own", "second", "third"}
    assert chi_squared < 13.8  # the 99.9th percentile at two degrees of freedom
    pairs = Counter(draw_caption(sample, seed, 7).text for seed in range(300))
    assert min(pairs.values()) > 70


def test_a_draw_changes_the_caption_alone() -> None:
    plain = Sample("0" * 32, "own", draw(CAPTIONS[0]))
    assert draw_caption(plain, 0, 0) is plain
    sample = replace(plain, others=OTHERS)
    drawn = draw_caption(sample, 0, 0)
    assert (drawn.uid, drawn.image, drawn.others) == (sample.uid, sample.image, OTHERS)


def test_only_samples_that_have_others_draw_and_the_order_stays() -> None:
    plain, many = texts(MemorySubset(CAPTIONS), 160, 160)[0], texts(ManyCaptions(CAPTIONS), 160, 160)[0]
    with_others = [text for number, text in enumerate(CAPTIONS) if number % 2 == 0]
    for own, drawn in zip(plain, many, strict=True):
        assert drawn in (own, *OTHERS) if own in with_others else drawn == own
    drawn_of = Counter(drawn for own, drawn in zip(plain, many, strict=True) if own in with_others)
    assert min(drawn_of[text] for text in OTHERS) > 10


def test_workers_ranks_and_batch_size_draw_the_same() -> None:
    subset = ManyCaptions(CAPTIONS, {1: "image_unreadable", 4: "image_unreadable"})
    whole = texts(subset, 48, 6)
    assert texts(subset, 48, 6, workers=2) == whole
    for step, shared in zip(whole, texts(subset, 48, 6, ranks=2), strict=True):
        assert sorted(step) == sorted(shared)
    assert list(chain(*texts(subset, 48, 8))) == list(chain(*whole))


def encoder(checkpoints: Checkpoints, cache_images: bool) -> DualEncoder:
    training = TrainConfig(
        samples_seen=64, batch_size=8, lr=3e-3, log_every=1, checkpoint_every=16, workers=0
    )
    return DualEncoder(checkpoints.vit, checkpoints.bert, training, True, cache_images, 16, 5, UNLOCKED)


def test_embedded_once_or_every_time_the_losses_are_the_same(
    checkpoints: Checkpoints, tmp_path: Path
) -> None:
    losses = {}
    for name, subset in {"plain": MemorySubset(CAPTIONS), "many": ManyCaptions(CAPTIONS)}.items():
        for cached in (True, False):
            tracker = Recorder()
            encoder(checkpoints, cached).train(subset, tmp_path / f"{name}{cached}", CPU, tracker, "f")
            losses[name, cached] = tracker.losses()
    assert losses["many", True] == pytest.approx(losses["many", False], abs=1e-5)
    assert not np.allclose(losses["many", True], losses["plain", True], atol=1e-2)


@pytest.mark.parametrize("model", ["captioner", "dual_encoder"])
def test_a_resumed_training_draws_what_it_would_have(
    model: str, checkpoints: Checkpoints, tmp_path: Path
) -> None:
    def make() -> Captioner | DualEncoder:
        training = TrainConfig(
            samples_seen=64, batch_size=8, lr=3e-3, log_every=1, checkpoint_every=16, workers=0
        )
        if model == "captioner":
            return Captioner(checkpoints.swin, checkpoints.gpt2, training, 16, 3, 12, 5)
        return encoder(checkpoints, True)

    subset, whole, first, second = ManyCaptions(CAPTIONS), Recorder(), Recorder(stop_at=40), Recorder()
    make().train(subset, tmp_path / "whole", CPU, whole, "f")
    with pytest.raises(KeyboardInterrupt):
        make().train(subset, tmp_path / "cut", CPU, first, "f")
    assert make().train(subset, tmp_path / "cut", CPU, second, "f").resumed_from == 4
    assert first.losses()[:4] + second.losses() == whole.losses()
