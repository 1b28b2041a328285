"""Training with the sum of the losses of a pair's captions (DS-CLIP, supplement, section B)."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812, its usual name
from torch import nn

from benchmark.core.batch import Sample
from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder
from downstream.training.trainer import TrainConfig
from tests.downstream.tiny_models import (
    CAPTIONS,
    UNLOCKED,
    Checkpoints,
    MemorySubset,
    Recorder,
    SummedCaptions,
)

CPU = torch.device("cpu")
WEIGHTS = (1.0, 0.5)
ONE_STEP = TrainConfig(8, batch_size=8, lr=3e-3, log_every=1, workers=0)


def encoder(tiny: Checkpoints, training: TrainConfig = ONE_STEP, locked: bool = False) -> DualEncoder:
    return DualEncoder(tiny.vit, tiny.bert, training, locked, locked, 16, 5, UNLOCKED)


def contrastive_loss(made: DualEncoder, pairs: list[tuple[Sample, str]]) -> torch.Tensor:
    """A plain loss of pairs, summed: the whole model is run on them."""
    model, tokens = made.model, made.collate.tokens([text for _, text in pairs])
    pixels = made.collate.processor(images=[sample.image for sample, _ in pairs], return_tensors="pt")
    states = model.image_tower(**pixels).last_hidden_state[:, 0]
    images = F.normalize(model.image_head(states), dim=-1)
    texts = F.normalize(model.text_head(model.text_tower(**tokens).last_hidden_state[:, 0]), dim=-1)
    logits = images @ texts.T * model.log_scale.exp()
    return -(logits.log_softmax(1).diag() + logits.log_softmax(0).diag()).sum() / 2


def reference(made: DualEncoder, subset: MemorySubset) -> torch.Tensor:
    """Three forward passes of the whole model, each of the pairs that have the caption."""
    samples = [subset[index] for index in range(len(subset))]
    total = contrastive_loss(made, [(sample, sample.text) for sample in samples])
    for source, weight in enumerate(WEIGHTS):
        given = [(sample, text) for sample in samples if (text := sample.others[source])]
        total = total + weight * contrastive_loss(made, given)
    return total / len(samples)


def gradients(model: nn.Module) -> torch.Tensor:
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


@pytest.mark.parametrize("locked", [False, True])
def test_the_gradient_is_that_of_three_passes(locked: bool, without_dropout: Checkpoints) -> None:
    subset = SummedCaptions(CAPTIONS)
    made = encoder(without_dropout, locked=locked)
    made.build(CPU)
    expected = reference(made, subset)
    expected.backward()
    of_reference = gradients(made.model)
    made.model.zero_grad()

    made.model.caption_weights = (1.0, *WEIGHTS)
    total, terms = made.model(replace(made.collate, kinds=3)([subset[index] for index in range(len(subset))]))
    (total / terms).backward()
    assert (total / terms).item() == pytest.approx(expected.item(), rel=1e-5)
    assert of_reference.norm() > 0.1
    assert (gradients(made.model) - of_reference).norm() < 1e-4 * of_reference.norm()


@pytest.mark.parametrize("changes", [{}, {"micro_batch": 3}, {"checkpointing": True}], ids=str)
@pytest.mark.parametrize("locked", [False, True])
def test_a_training_step_has_the_loss_of_three_passes(
    locked: bool, changes: dict[str, int], without_dropout: Checkpoints, tmp_path: Path
) -> None:
    subset = SummedCaptions(CAPTIONS, caption_weights=WEIGHTS)
    untrained = encoder(without_dropout, locked=locked)
    untrained.build(CPU)
    expected = reference(untrained, subset)
    expected.backward()
    tracker = Recorder()
    encoder(without_dropout, replace(ONE_STEP, **changes), locked).train(subset, tmp_path, CPU, tracker, "f")
    (row,) = (row for _, row in tracker.rows)
    assert row["dual_encoder/loss"] == pytest.approx(expected.item(), rel=1e-5)
    assert row["dual_encoder/gradient_norm"] == pytest.approx(
        gradients(untrained.model).norm().item(), rel=1e-4
    )


def test_an_image_is_embedded_once_for_all_captions(checkpoints: Checkpoints) -> None:
    made, rows = encoder(checkpoints), []
    made.build(CPU)
    made.model.image_tower.register_forward_hook(lambda *given: rows.append(len(given[2][0])))
    made.model.caption_weights = (1.0, *WEIGHTS)
    subset = SummedCaptions(CAPTIONS)
    made.model(replace(made.collate, kinds=3)([subset[index] for index in range(5)]))
    assert rows == [5]


def test_a_batch_without_a_source_has_no_loss_of_it(without_dropout: Checkpoints) -> None:
    made = encoder(without_dropout)
    made.build(CPU)
    samples = [
        replace(sample, others=()) for sample in (SummedCaptions(CAPTIONS)[0], SummedCaptions(CAPTIONS)[1])
    ]
    plain, _ = made.model(made.collate(samples))
    made.model.caption_weights = (1.0, *WEIGHTS)
    summed, _ = made.model(replace(made.collate, kinds=3)(samples))
    assert summed.item() == pytest.approx(plain.item(), rel=1e-6)


def test_the_captioner_draws(checkpoints: Checkpoints, tmp_path: Path) -> None:
    losses = []
    for weights in ((), WEIGHTS):
        tracker = Recorder()
        captioner = Captioner(checkpoints.swin, checkpoints.gpt2, ONE_STEP, 16, 3, 12, 5)
        subset = SummedCaptions(CAPTIONS, caption_weights=weights)
        captioner.train(subset, tmp_path / str(len(weights)), CPU, tracker, "f")
        losses += tracker.losses()
    assert losses[0] == losses[1]
