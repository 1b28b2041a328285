"""Both models in bf16 on a GPU: they learn, and embed as on a CPU."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.devices import resolve_device
from benchmark.core.distributed import make_accelerator
from downstream.batching import pixel_levels, to_pixels
from downstream.models.captioner import Captioner
from downstream.models.dual_encoder import DualEncoder
from downstream.models.networks import CaptionLoss
from downstream.training.batch_loader import loader
from downstream.training.stepper import Stepper, make_optimizer
from downstream.training.trainer import TrainConfig
from downstream.training.training_data import SampleOrder, StepBatches, TrainingBatch, TrainingData
from tests.downstream.tiny_models import (
    CAPTIONS,
    SIZE,
    UNLOCKED,
    Checkpoints,
    MemorySubset,
    Recorder,
    draw,
    make,
)
from tests.paper_checkpoints import tiny_timm_vit

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
IMAGES = [draw(caption) for caption in CAPTIONS]
TRAINING = TrainConfig(samples_seen=2400, batch_size=8, lr=3e-3, workers=2, log_every=1)


def test_the_captioner_learns_on_a_gpu(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    captioner, tracker = Captioner(checkpoints.swin, checkpoints.gpt2, TRAINING, 16, 3, 12, 5), Recorder()
    captioner.train(eight_pairs, tmp_path, torch.device("cuda"), tracker, "f")
    assert tracker.losses()[-1] < 0.2 < tracker.losses()[0]
    assert captioner.caption(IMAGES) == CAPTIONS


def test_a_captioner_with_a_timm_encoder_learns_on_a_gpu(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    encoder = tiny_timm_vit(tmp_path / "timm", SIZE)
    captioner, tracker = Captioner(encoder, checkpoints.gpt2, TRAINING, 16, 3, 12, 5), Recorder()
    captioner.train(eight_pairs, tmp_path, torch.device("cuda"), tracker, "f")
    assert tracker.losses()[-1] < 0.5 * tracker.losses()[0]
    assert len(captioner.caption(IMAGES)) == len(IMAGES)


def test_both_towers_learn_with_lamb_on_a_gpu(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    training = replace(TRAINING, optimizer="lamb", lr=2e-2, weight_decay=0.2)
    unlocked = replace(UNLOCKED, pretrained=False, augment=True)
    encoder = DualEncoder(checkpoints.vit, checkpoints.bert, training, False, False, 16, 5, unlocked)
    tracker = Recorder()
    encoder.train(eight_pairs, tmp_path, torch.device("cuda"), tracker, "f")
    assert tracker.losses()[-1] < tracker.losses()[0]


def test_the_dual_encoder_embeds_on_a_gpu_as_on_a_cpu(
    checkpoints: Checkpoints, eight_pairs: MemorySubset, tmp_path: Path
) -> None:
    encoder = DualEncoder(checkpoints.vit, checkpoints.bert, TRAINING, True, True, 16, 5, UNLOCKED)
    tracker = Recorder()
    encoder.train(eight_pairs, tmp_path, torch.device("cuda"), tracker, "f")
    assert tracker.losses()[-1] < 0.5 * tracker.losses()[0]
    on_gpu = encoder.embed_images(IMAGES)
    encoder.load(tmp_path, torch.device("cpu"))
    assert np.allclose(on_gpu, encoder.embed_images(IMAGES), atol=0.02)


@pytest.mark.parametrize("micro_batch", [None, 3])
@pytest.mark.parametrize("kind", ["captioner", "uncached", "unlocked", "clip_scratch"])
def test_a_step_never_waits_for_the_gpu(
    kind: str, micro_batch: int | None, checkpoints: Checkpoints, eight_pairs: MemorySubset
) -> None:
    model, device = make(kind, checkpoints), torch.device("cuda")
    model.build(device)
    network = (CaptionLoss(model.model) if kind == "captioner" else model.model).train()
    optimizer = make_optimizer(network, "adamw", 1e-3, 0.0)
    levels = pixel_levels(partial(to_pixels, model.collate.processor), device)
    stepper = Stepper(make_accelerator(device), network, optimizer, 1.0, 0, "bf16", micro_batch, levels)
    data = TrainingData(eight_pairs, SampleOrder.over(8, 0), model.collate, levels=levels)
    (batch,) = loader(StepBatches(data, 8, 8), range(1), 0, device)
    pixels = batch.inputs["pixel_values"]
    assert (pixels.dtype, pixels.is_pinned()) == (torch.uint8, True)
    expected = model.collate([eight_pairs[int(index)] for index in data.order.indices(0, 8)])["pixel_values"]
    assert torch.equal(stepper._on_device(batch.inputs)["pixel_values"].cpu(), expected)
    stepper.step(0, 1e-3, batch)
    torch.cuda.set_sync_debug_mode("error")
    try:
        stepper.step(1, 1e-3, batch)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_only_tf32_rounds_products_and_gradients(checkpoints: Checkpoints, eight_pairs: MemorySubset) -> None:
    exact, rounded = (gradients(precision, checkpoints, eight_pairs) for precision in ("fp32", "tf32"))
    again = gradients("fp32", checkpoints, eight_pairs)
    difference = (rounded - exact).norm() / exact.norm()
    assert (again - exact).norm() < 1e-5 * exact.norm()
    assert 1e-5 < difference < 0.05


def gradients(precision: str, checkpoints: Checkpoints, pairs: MemorySubset) -> torch.Tensor:
    model, device = make("unlocked", checkpoints), resolve_device("cuda")
    model.build(device)
    optimizer = make_optimizer(model.model.eval(), "adamw", 1e-3, 0.0)
    optimizer.zero_grad = lambda: None  # type: ignore[method-assign]
    stepper = Stepper(make_accelerator(device), model.model, optimizer, 1e9, 0, precision, None)
    stepper.step(0, 1e-3, TrainingBatch(model.collate([pairs[index] for index in range(8)]), 8, {}))
    return torch.cat([p.grad.flatten() for p in model.model.parameters() if p.grad is not None])
