"""Training with the sum of the losses of a pair's captions (DS-CLIP, supplement, section B)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812, its usual name

from benchmark.core.batch import Sample
from downstream.models.dual_encoder import DualEncoder
from tests.downstream.tiny_models import (
    CAPTIONS,
    Checkpoints,
    Recorder,
    SummedCaptions,
    built,
    make,
    six_steps,
)

CPU = torch.device("cpu")
WEIGHTS = (1.0, 0.5)
PAIRS = SummedCaptions(CAPTIONS, caption_weights=WEIGHTS)


def contrastive_loss(made: DualEncoder, pairs: list[tuple[Sample, str]]) -> torch.Tensor:
    """A plain loss of pairs, summed: the whole model is run on them."""
    model, tokens = made.model, made.collate.tokens([text for _, text in pairs])
    pixels = made.collate.processor(images=[sample.image for sample, _ in pairs], return_tensors="pt")
    states = model.image_tower(**pixels).last_hidden_state[:, 0]
    images = F.normalize(model.image_head(states), dim=-1)
    texts = F.normalize(model.text_head(model.text_tower(**tokens).last_hidden_state[:, 0]), dim=-1)
    logits = images @ texts.T * model.log_scale.exp()
    return -(logits.log_softmax(1).diag() + logits.log_softmax(0).diag()).sum() / 2


@pytest.mark.parametrize("changes", [{}, {"micro_batch": 3}, {"checkpointing": True}], ids=str)
@pytest.mark.parametrize("kind", ["locked", "unlocked"])
def test_a_training_step_has_the_loss_and_gradient_of_three_passes(
    kind: str, changes: dict[str, Any], without_dropout: Checkpoints, tmp_path: Path
) -> None:
    """Three forward passes of the whole model, each of the pairs that have the caption."""
    untrained = built(kind, without_dropout)
    samples = [PAIRS[index] for index in range(len(PAIRS))]
    expected = contrastive_loss(untrained, [(sample, sample.text) for sample in samples])
    for source, weight in enumerate(WEIGHTS):
        given = [(sample, text) for sample in samples if (text := sample.others[source])]
        expected = expected + weight * contrastive_loss(untrained, given)
    expected = expected / len(samples)
    expected.backward()
    gradients = [p.grad.flatten() for p in untrained.model.parameters() if p.grad is not None]
    tracker = Recorder()
    make(kind, without_dropout, six_steps(samples_seen=8, **changes)).train(
        PAIRS, tmp_path, CPU, tracker, "f"
    )
    ((_, row),) = tracker.rows
    assert row["dual_encoder/loss"] == pytest.approx(expected.item(), rel=1e-5)
    assert row["dual_encoder/gradient_norm"] == pytest.approx(torch.cat(gradients).norm().item(), rel=1e-4)


def test_an_image_is_embedded_once_for_all_captions(checkpoints: Checkpoints) -> None:
    model, rows = built("unlocked", checkpoints), []
    model.model.image_tower.register_forward_hook(lambda *given: rows.append(len(given[2][0])))
    model.model.caption_weights = (1.0, *WEIGHTS)
    model.model(replace(model.collate, kinds=3)([PAIRS[index] for index in range(5)]))
    assert rows == [5]


def test_a_batch_without_a_source_has_no_loss_of_it(without_dropout: Checkpoints) -> None:
    model = built("unlocked", without_dropout)
    samples = [replace(PAIRS[index], others=()) for index in range(2)]
    plain, _ = model.model(model.collate(samples))
    model.model.caption_weights = (1.0, *WEIGHTS)
    summed, _ = model.model(replace(model.collate, kinds=3)(samples))
    assert summed.item() == pytest.approx(plain.item(), rel=1e-6)


def test_the_captioner_draws(checkpoints: Checkpoints, tmp_path: Path) -> None:
    losses = []
    for weights in ((), WEIGHTS):
        tracker = Recorder()
        subset = replace(PAIRS, caption_weights=weights)
        captioner = make("captioner", checkpoints, six_steps(samples_seen=8))
        captioner.train(subset, tmp_path / str(len(weights)), CPU, tracker, "f")
        losses += tracker.losses()
    assert losses[0] == losses[1]
