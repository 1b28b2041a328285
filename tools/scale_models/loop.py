"""The training loop of all scale models: AdamW, linear warm-up, cosine decay, gradient clipping."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

log = logging.getLogger(__name__)

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Recipe:
    """The hyperparameters of a training run.

    Args:
        steps: optimiser steps.
        batch: samples per step.
        lr: peak learning rate.
        weight_decay: weight decay of matrices; vectors and scalars have none.
        warmup: fraction of the steps with a rising learning rate.
        clip: maximal norm of the gradient.
        seed: random seed of initialisation and sampling order.
        workers: processes that render training samples.
    """

    steps: int
    batch: int
    lr: float
    weight_decay: float = 0.05
    warmup: float = 0.05
    clip: float = 1.0
    seed: int = 0
    workers: int = 1

    @property
    def samples(self) -> int:
        """The total number of samples seen."""
        return self.steps * self.batch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's global generator and use deterministic kernels inside the block; restore both afterwards.

    Transformers and open_clip initialise weights only from the global generator.
    """
    before = torch.are_deterministic_algorithms_enabled()
    # Warn only: on a GPU determinism also needs CUBLAS_WORKSPACE_CONFIG, which must be set before the start.
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield
    finally:
        torch.use_deterministic_algorithms(before)


def cosine(step: int, steps: int, warmup: float) -> float:
    """Return the learning rate at `step` relative to the peak: linear warm-up, then cosine decay to 0.

    `warmup` is the fraction of the `steps` that the warm-up takes.
    """
    warmup_steps = max(1, round(warmup * steps))
    if step < warmup_steps:
        return (step + 1) / warmup_steps
    return 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, steps - warmup_steps)))


def shuffled(samples: int, recipe: Recipe) -> Iterator[Tensor]:
    """Yield the row indices of each batch (recipe.batch,): every pass goes through all `samples` in a new order."""
    generator = torch.Generator().manual_seed(recipe.seed)
    passes = -(-recipe.samples // samples)
    order = torch.cat([torch.randperm(samples, generator=generator) for _ in range(passes)])
    yield from order[: recipe.samples].view(recipe.steps, recipe.batch)


def by_length(items: Sequence[Sized], recipe: Recipe, window: int) -> Iterator[Tensor]:
    """Yield batches of indices of items with similar lengths; random batches would be more than half padding.

    Batches are drawn as in `shuffled`; then the items of `window` consecutive batches are sorted by length.
    """
    lengths = torch.tensor([len(item) for item in items])
    generator = torch.Generator().manual_seed(recipe.seed)
    for batches in torch.stack(list(shuffled(len(items), recipe))).split(window):
        rows = batches.flatten()
        rows = rows[lengths[rows].argsort(stable=True)]
        yield from rows.view_as(batches)[torch.randperm(len(batches), generator=generator)]


def fit(
    model: nn.Module,
    batches: Iterable[Tensors],
    loss: Callable[[Tensors], Tensor],
    recipe: Recipe,
    device: torch.device,
) -> None:
    """Train `model` in place.

    Args:
        model: the model, moved to `device`.
        batches: one batch per optimiser step.
        loss: maps a batch on `device` to a scalar.
        recipe: hyperparameters.
        device: device to train on.
    """
    model.to(device).train()
    optimizer = torch.optim.AdamW(
        _parameter_groups(model, recipe.weight_decay), lr=recipe.lr, betas=(0.9, 0.98)
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: cosine(step, recipe.steps, recipe.warmup)
    )
    started, mean_loss = time.perf_counter(), 0.0
    for step, batch in enumerate(batches, start=1):
        value = loss({name: tensor.to(device) for name, tensor in batch.items()})
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        schedule.step()
        mean_loss += (value.item() - mean_loss) / min(step, 50)
        if step % 50 == 0 or step == recipe.steps:
            rate = step * recipe.batch / (time.perf_counter() - started)
            log.info("step %d of %d: loss %.4f, %.0f samples/s", step, recipe.steps, mean_loss, rate)
    model.eval()


def _parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    # No weight decay on biases, norms and temperatures, as in the papers of the original models.
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
