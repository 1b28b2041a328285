"""One optimizer step on a batch that may be spread over processes."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from downstream.training.training_data import TrainingBatch


class Step(NamedTuple):
    """The mean loss of the whole batch, and the norm of its gradient before clipping; still on the device."""

    loss: torch.Tensor
    gradient_norm: torch.Tensor


@dataclass(frozen=True)
class Stepper:
    """Takes optimizer steps.

    Args:
        accelerator: of all processes.
        model: returns (sum of losses, number of terms).
        optimizer: its groups have an `lr_ratio`, see `make_optimizer`.
        max_grad_norm: norm to which gradients are clipped.
        seed: random seed of dropout.
    """

    accelerator: Any
    model: nn.Module
    optimizer: Any
    max_grad_norm: float
    seed: int

    def step(self, index: int, lr: float, batch: TrainingBatch) -> Step | None:
        """Take step `index`; no step and None if nothing of the whole batch was readable."""
        ranks: int = self.accelerator.num_processes
        if self._over_ranks(torch.tensor([batch.size], device=self.accelerator.device)).item() == 0:
            return None
        self._seed(index)
        inputs = {k: v.to(self.accelerator.device, non_blocking=True) for k, v in batch.inputs.items()}
        total, terms = self.model(inputs)
        sums = self._over_ranks(torch.stack([total.detach().float(), terms.float()]))
        # Data parallelism averages gradients over ranks; the mean over all terms needs their sum.
        self.accelerator.backward(total * ranks / sums[1])
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = group["lr_ratio"] * lr
        self.optimizer.step()
        self.optimizer.zero_grad()
        return Step(sums[0] / sums[1], norm)

    def _over_ranks(self, tensor: torch.Tensor) -> torch.Tensor:
        reduced: torch.Tensor = self.accelerator.reduce(tensor, "sum")
        return reduced

    def _seed(self, index: int) -> None:
        """Seed dropout from (seed, step, rank), so that a resumed training needs no saved generator."""
        sequence = np.random.SeedSequence([self.seed, index, self.accelerator.process_index])
        seed = int(sequence.generate_state(1, np.uint64)[0])
        torch.default_generator.manual_seed(seed)
        if self.accelerator.device.type == "cuda":
            torch.cuda.manual_seed(seed)
