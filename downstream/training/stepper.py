"""One optimizer step on a batch that may be spread over processes, and computed in parts; optimizers."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from benchmark.core.devices import autocast, tf32
from benchmark.core.pixel_workers import to_device
from downstream.training.training_data import Inputs, TrainingBatch

log = logging.getLogger(__name__)


class Step(NamedTuple):
    """The mean loss of the whole batch, and the norm of its gradient before clipping; still on the device."""

    loss: torch.Tensor
    gradient_norm: torch.Tensor


class LossSum(NamedTuple):
    """The sum of the losses of a batch, and the number of terms in it."""

    total: torch.Tensor
    terms: torch.Tensor


@runtime_checkable
class Contrastive(Protocol):
    """A model whose loss compares every sample with the others of the batch, through embeddings of single samples."""

    def embed(self, inputs: Inputs) -> Any:
        """Return the embeddings of samples."""

    def embedding_gradients(self, embedded: Sequence[Any]) -> tuple[LossSum, Sequence[Any]]:
        """Return the loss of the whole batch, given in parts, and its gradients at the embeddings of each part."""

    def __call__(self, inputs: Inputs, gradients: Any) -> torch.Tensor:
        """Return a number whose gradient is that of the loss, given `gradients` at the embeddings of `inputs`."""


@dataclass(frozen=True)
class Stepper:
    """Takes optimizer steps.

    With a `micro_batch`, the forward and backward pass compute so many samples at a time. The gradients of a
    model whose loss is a sum over samples are added up. For a `Contrastive` model they are computed as in GradCache
    (Gao et al. 2021): all samples are embedded without keeping activations, the loss gives the gradient at each
    embedding, and each part is embedded again to pass it on to the weights. Both are the gradient of the whole batch
    up to rounding, except for layers that compute statistics of a batch, which see a part.

    Args:
        model: returns (sum of losses, number of terms).
        optimizer: its groups have an `lr_ratio`, see `make_optimizer`.
        micro_batch: samples that this process computes at once; None for all.
        levels: of the batches' pixels, see `TrainingData`.
    """

    accelerator: Any
    model: nn.Module
    optimizer: Any
    max_grad_norm: float
    seed: int
    precision: str
    micro_batch: int | None
    levels: torch.Tensor | None = None

    def step(self, index: int, lr: float, batch: TrainingBatch) -> Step | None:
        """Take step `index`; no step and None if nothing of the whole batch was readable."""
        size = batch.size
        if self.accelerator.num_processes > 1:
            size = int(self._over_ranks(torch.tensor([size], device=self.accelerator.device)).item())
        if size == 0:
            return None
        with tf32(self.precision == "tf32"):
            if self.micro_batch is None:
                sums = self._whole_batch(index, batch.inputs)
            else:
                sums = self._in_parts(index, batch_parts(batch.inputs, self.micro_batch))
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), self.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = group["lr_ratio"] * lr
        self.optimizer.step()
        self.optimizer.zero_grad()
        return Step(sums[0] / sums[1], norm)

    def memory_gib(self) -> float | None:
        """Return the most memory that the GPU held so far; None on a CPU."""
        device = self.accelerator.device
        return torch.cuda.max_memory_allocated(device) / 2**30 if device.type == "cuda" else None

    def _whole_batch(self, index: int, inputs: Inputs) -> torch.Tensor:
        """Compute the gradient of the mean over all terms; return the sum of losses and the number of terms, (2,)."""
        self._seed(index)
        with self._autocast():
            total, terms = self.model(self._on_device(inputs))
        sums = self._over_ranks(torch.stack([total.detach().float(), terms.float()]))
        # Data parallelism averages gradients over ranks; the mean over all terms needs their sum.
        self.accelerator.backward(total * self.accelerator.num_processes / sums[1])
        return sums

    def _in_parts(self, index: int, parts: Sequence[Inputs]) -> torch.Tensor:
        """Do the same one part after another; gradients are reduced over ranks once, with the last part.

        One autocast context holds all parts: weights are cast once, as its cache lives until it ends.
        """
        module = self.accelerator.unwrap_model(self.model)
        contrastive = isinstance(module, Contrastive)
        losses: list[LossSum] = []
        if contrastive:
            loss, gradients = self._embedding_gradients(index, module, parts)
            losses.append(loss)
        with self._autocast():
            for number, part in enumerate(parts):
                self._seed(index, number)
                is_last = number + 1 == len(parts)
                with nullcontext() if is_last else self.accelerator.no_sync(self.model):
                    if contrastive:
                        total = self.model(self._on_device(part), gradients[number])
                    else:
                        total, terms = self.model(self._on_device(part))
                        losses.append(LossSum(total.detach(), terms))
                    with torch.autocast(self.accelerator.device.type, enabled=False):
                        self.accelerator.backward(total)
        sums = self._over_ranks(torch.stack([torch.stack(loss).float() for loss in losses]).sum(0))
        summed = [p.grad for p in self.model.parameters() if p.grad is not None]
        torch._foreach_mul_(summed, self.accelerator.num_processes / sums[1])
        return sums

    @torch.no_grad()
    def _embedding_gradients(
        self, index: int, module: Contrastive, parts: Sequence[Inputs]
    ) -> tuple[LossSum, Sequence[Any]]:
        embedded = []
        with self._autocast():  # not the one of the parts: weights that are cast here get no gradients
            for number, part in enumerate(parts):
                self._seed(index, number)  # the same dropout as when the part is embedded again
                embedded.append(module.embed(self._on_device(part)))
        return module.embedding_gradients(embedded)

    def _autocast(self) -> torch.autocast:
        return autocast(self.precision, self.accelerator.device)

    def _on_device(self, inputs: Inputs) -> Inputs:
        device = self.accelerator.device
        levels = {"pixel_values": self.levels}
        return {name: to_device(tensor, device, levels.get(name)) for name, tensor in inputs.items()}

    def _over_ranks(self, tensor: torch.Tensor) -> torch.Tensor:
        reduced: torch.Tensor = self.accelerator.reduce(tensor, "sum")
        return reduced

    def _seed(self, index: int, *part: int) -> None:
        """Seed dropout from (seed, step, rank, part), so that a resumed training needs no saved generator."""
        sequence = np.random.SeedSequence([self.seed, index, self.accelerator.process_index, *part])
        seed = int(sequence.generate_state(1, np.uint64)[0])
        torch.default_generator.manual_seed(seed)
        if self.accelerator.device.type == "cuda":
            torch.cuda.manual_seed(seed)


@contextmanager
def ready_for_steps(model: nn.Module, device: torch.device, precision: str, compiles: bool) -> Iterator[None]:
    """Prepare `model` for steps, and undo it after the block.

    The random generators are restored, which each step seeds for dropout. Frozen weights that autocast would cast at
    each use are in its precision. If `compiles`, trained networks are compiled: the first batch for its size, the
    second size for all further sizes.
    """
    towers = getattr(model, "towers", [model]) if compiles else []
    layers = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv2d) and precision == "bf16"]
    with ExitStack() as undo:
        undo.enter_context(torch.random.fork_rng([device] if device.type == "cuda" else []))
        for p in (p for layer in layers for p in layer.parameters(recurse=False) if not p.requires_grad):
            undo.callback(setattr, p, "data", p.data)
            p.data = p.data.bfloat16()
        for tower in towers:
            # A CLIP of open_clip is called by other methods than `forward`, which call its parts.
            for network in tower.children() if hasattr(tower, "encode_image") else [tower]:
                undo.callback(setattr, network, "_compiled_call_impl", None)
                network.compile()
        if compiles:
            # All networks count together, with and without gradients.
            undo.enter_context(torch._dynamo.config.patch(recompile_limit=64))
            undo.enter_context(torch._inductor.config.patch(fallback_random=True))  # the same dropout
        yield


def batch_parts(inputs: Inputs, size: int) -> list[Inputs]:
    """Cut a batch into parts of `size` samples; one without samples is one part."""
    samples = len(next(iter(inputs.values()), ()))
    starts = range(0, max(samples, 1), size)
    return [{name: rows[start : start + size] for name, rows in inputs.items()} for start in starts]


def make_optimizer(
    model: nn.Module,
    name: str,
    lr: float,
    weight_decay: float,
    lr_ratios: Mapping[str, float] | None = None,
    options: Mapping[str, Any] | None = None,
) -> torch.optim.Optimizer:
    """Return an optimizer of the trainable parameters; weight decay applies to matrices, not vectors.

    `lr_ratios` are factors on the learning rate of parts of the model, by the prefix of their parameters' names. Each
    group of parameters has its factor as `lr_ratio`; `Stepper` multiplies the rate of a step by it. `options` are
    more arguments of the optimizer (`betas`, `eps`), None for its own.
    """
    groups: list[dict[str, Any]] = []
    given = {option: value for option, value in (options or {}).items() if value is not None}
    for ratio, parameters in _by_ratio(model, lr_ratios or {}).items():
        of_ratio = {"lr_ratio": ratio, "lr": ratio * lr}
        matrices = [p for p in parameters if p.ndim >= 2]
        # LAMB: matrices have a trust ratio with or without weight decay, other parameters never.
        groups.append(of_ratio | {"params": matrices, "weight_decay": weight_decay, "always_adapt": True})
        groups.append(of_ratio | {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0})
    if name == "adamw":
        return torch.optim.AdamW(groups, fused=True, **given)
    from timm.optim.lamb import Lamb

    lamb: torch.optim.Optimizer = Lamb(groups, max_grad_norm=None, **given)  # the trainer clips gradients
    return lamb


def _by_ratio(model: nn.Module, lr_ratios: Mapping[str, float]) -> dict[float, list[nn.Parameter]]:
    """Return the trainable parameters by the factor on their learning rate."""
    by_ratio: dict[float, list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            ratio = next((r for prefix, r in lr_ratios.items() if name.startswith(prefix)), 1.0)
            by_ratio.setdefault(ratio, []).append(parameter)
    return by_ratio


def checkpoint_activations(model: nn.Module, name: str) -> None:
    """Let `model` compute activations again, with the same dropout, so that gradients stay the same.

    Its attribute `towers` holds its trained networks; a model without it is a network itself. A line names the model
    and a network that cannot.
    """
    towers: Iterable[Any] = getattr(model, "towers", [model])
    for tower in towers:
        if not _recomputes(tower):
            log.warning(
                "%s: training.checkpointing changes nothing for %s, which cannot recompute activations; "
                "training.micro_batch saves memory too",
                name,
                type(getattr(tower, "timm_model", tower)).__name__,
            )


def _recomputes(tower: Any) -> bool:
    # Computed again, a batch would count twice in running statistics.
    if any(isinstance(module, _BatchNorm) for module in tower.modules()):
        return False
    try:
        if hasattr(tower, "activation_checkpointing_enable"):  # its name in transformers since 5.23
            tower.activation_checkpointing_enable({"use_reentrant": False})
        elif hasattr(tower, "gradient_checkpointing_enable"):
            tower.gradient_checkpointing_enable({"use_reentrant": False})
        else:
            tower.set_grad_checkpointing()  # of timm
    except (AttributeError, AssertionError, ValueError):  # how transformers and timm refuse
        return False
    return True
