"""The one loop that trains every scale model: AdamW, linear warm-up, cosine, gradient clipping."""

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

log = logging.getLogger(__name__)

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Recipe:
    """How long and how fast a model learns: `steps` optimiser steps of `batch` samples, peak rate `lr`."""

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
        """Samples seen in all."""
        return self.steps * self.batch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Make torch repeat itself inside the block: its global generator seeded, its kernels deterministic.

    transformers and open_clip initialise their weights from the global generator and offer no other way.
    Both settings are put back after.
    """
    before = torch.are_deterministic_algorithms_enabled()
    # Warn only: a GPU's matrix products also want CUBLAS_WORKSPACE_CONFIG, which is the caller's to set.
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            yield
    finally:
        torch.use_deterministic_algorithms(before)


def cosine(step: int, steps: int, warmup: float) -> float:
    """Return the share of the peak rate at `step` of `steps`: linear up over `warmup`, then cosine to 0."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return (step + 1) / rising
    return 0.5 * (1 + math.cos(math.pi * (step - rising) / max(1, steps - rising)))


def shuffled(samples: int, recipe: Recipe) -> Iterator[Tensor]:
    """Yield the rows of each of the recipe's batches: all `samples` in a new order, again and again."""
    generator = torch.Generator().manual_seed(recipe.seed)
    passes = -(-recipe.samples // samples)
    order = torch.cat([torch.randperm(samples, generator=generator) for _ in range(passes)])
    yield from order[: recipe.samples].view(recipe.steps, recipe.batch)


def fit(
    model: nn.Module,
    batches: Iterable[Tensors],
    loss: Callable[[Tensors], Tensor],
    recipe: Recipe,
    device: torch.device,
) -> None:
    """Train `model` in place on `batches`, one optimiser step each; `loss` maps a batch to a scalar."""
    model.to(device).train()
    optimizer = torch.optim.AdamW(_groups(model, recipe.weight_decay), lr=recipe.lr, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: cosine(step, recipe.steps, recipe.warmup)
    )
    started, mean = time.perf_counter(), 0.0
    for step, batch in enumerate(batches, start=1):
        value = loss({name: tensor.to(device) for name, tensor in batch.items()})
        optimizer.zero_grad()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        schedule.step()
        mean += (value.item() - mean) / min(step, 50)
        if step % 50 == 0 or step == recipe.steps:
            rate = step * recipe.batch / (time.perf_counter() - started)
            log.info("step %d of %d: loss %.4f, %.0f samples/s", step, recipe.steps, mean, rate)
    model.eval()


def _groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    # Biases, norms and temperatures are not decayed, as in the papers whose models these copy.
    parameters = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
