"""The trainer of all models: a budget in samples seen, and an exact resume."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmark.core.batch import counts
from benchmark.core.devices import default_precision
from benchmark.core.distributed import make_accelerator
from benchmark.core.errors import UserError
from benchmark.core.progress import MetricLogger, progress
from benchmark.core.ranges import (
    FractionBelowOne,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    ProcessesOrNone,
    Seed,
    TrainingPrecision,
    checked,
)
from benchmark.core.source_code import git_commit
from downstream.evaluation.protocols import Validate
from downstream.training.batch_loader import default_workers, loader
from downstream.training.train_report import TrainReport
from downstream.training.training_data import SampleStream, StepBatches, TrainingBatch, TrainingData

if TYPE_CHECKING:
    import torch
    from torch import nn

    from downstream.training.checkpointing import TrainState
    from downstream.training.stepper import Step, Stepper

log = logging.getLogger(__name__)
OptimizerName = Literal["adamw", "lamb"]
OF_STREAMS = frozenset({"source", "stream_workers", "shuffle_mib"})


@checked
@dataclass(frozen=True)
class TrainConfig:
    """The budget and the recipe; no filter can change them.

    Args:
        samples_seen: the budget N, met exactly by a smaller last batch.
        batch_size: samples per step, over all processes.
        lr: peak learning rate, after a warm-up (`warmup_steps`; if None, `warmup_ratio` of all); then a cosine to 0.
        optimizer: AdamW, or LAMB for batches of thousands (You et al. 2020).
        weight_decay: weight decay of matrices; biases, norms and temperatures have none.
        beta2: decay rate of the optimizer's mean of squared gradients; None for its default, 0.999.
        epsilon: the optimizer's term against division by zero; None for its default.
        max_grad_norm: norm to which gradients are clipped; None for no clipping.
        seed: random seed of the sampling order, dropout and new weights.
        source: ``index`` reads samples at random offsets of local tars, ``stream`` tars from front to back, wherever
            they are.
        stream_workers: processes that may read a stream, each a part of it; its order depends on the number.
        shuffle_mib: MiB of encoded samples that are shuffled at a time, of each part of a stream.
        workers: processes that read and decode samples, in addition to the training process; None, see `workers_on`.
        validate_every: samples between validations; None for none.
        micro_batch: samples that a process computes at once, so that less memory holds a large batch; None for all.
            The gradient is that of the whole batch, see `Stepper`.
        checkpointing: whether activations are computed again in the backward pass: less memory, slower, the same
            gradient.
        precision: fp32, bf16 or, on a GPU, tf32; auto is bf16 on a GPU that computes it, else fp32. The fingerprint
            of a training has the resolved precision, its identity has none (`compare=False`).
        compile: whether the trained networks are compiled, which changes rounding only.
    """

    samples_seen: PositiveInt
    batch_size: PositiveInt
    lr: PositiveFloat
    optimizer: OptimizerName = "adamw"
    warmup_ratio: FractionBelowOne = 0.03
    weight_decay: NonNegativeFloat = 0.0
    max_grad_norm: PositiveFloat | None = 1.0
    seed: Seed = 0
    checkpoint_every: PositiveInt = 100_000
    workers: ProcessesOrNone | None = None
    log_every: PositiveInt = 10
    validate_every: PositiveInt | None = None
    micro_batch: PositiveInt | None = None
    checkpointing: bool = False
    precision: TrainingPrecision = field(default="auto", compare=False)
    compile: bool = field(default=False, compare=False)
    beta2: FractionBelowOne | None = None
    epsilon: PositiveFloat | None = None
    source: Literal["index", "stream"] = "index"
    stream_workers: PositiveInt = 4
    shuffle_mib: PositiveInt = 16
    warmup_steps: PositiveInt | None = None

    def __post_init__(self) -> None:
        if self.warmup_steps and self.warmup_steps >= self.steps:
            must = f"warmup_steps={self.warmup_steps} must be below the budget's {self.steps:,} steps"
            raise UserError(f"downstream.MODEL.training.{must}; choose a larger budget, or null")

    def precision_on(self, device: str) -> str:
        """Return fp32, bf16 or tf32, the precision on ``"cpu"`` or ``"cuda"``."""
        return default_precision(device) if self.precision == "auto" else self.precision

    def workers_on(self, device: torch.device, decodes: bool = True) -> int:
        """Return the number of loader processes of a model on `device`; by default none if no image is decoded."""
        if self.workers is None:
            return default_workers(device) if decodes else 0
        return self.workers

    @property
    def steps(self) -> int:
        """Number of steps, ceil(budget / batch size)."""
        return math.ceil(self.samples_seen / self.batch_size)

    def seen_after(self, steps: int) -> int:
        """Return the samples seen after `steps` steps."""
        return min(steps * self.batch_size, self.samples_seen)

    def lr_at(self, step: int) -> float:
        """Return the learning rate of `step`, from 0. It depends only on the step: no schedule is saved."""
        warmup = self.warmup_steps or round(self.warmup_ratio * self.steps)
        if step < warmup:
            return self.lr * (step + 1) / warmup
        return self.lr * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (self.steps - warmup)))


def recipe_key(training: Mapping[str, Any], workers: int) -> dict[str, Any]:
    """Return the settings of a training, by the names of `TrainConfig`, that belong into cache keys, protocols and
    run ids.

    Settings that are off (None, False or auto) are left out, and so are `validate_every` and `compile`, which change
    no training. `workers` replaces the number of loader processes, which changes no training either.
    """
    given = {name: workers if name == "workers" else value for name, value in training.items()}
    if given.get("source", "index") == "index":
        given = {name: value for name, value in given.items() if name not in OF_STREAMS}
    off = {name for name, value in given.items() if value is None or value is False or value == "auto"}
    return {name: value for name, value in given.items() if name not in off | {"validate_every", "compile"}}


@dataclass(frozen=True)
class Trainer:
    """Trains a model whose ``forward(inputs)`` returns (sum of losses, number of terms).

    The gradient is that of the mean over all terms of the batch, however the batch is split over processes. `inputs`
    is empty if this process got no readable sample while another did. `lr_ratios` are factors, see `make_optimizer`;
    `validate` is called every `validate_every` samples and after the last.
    """

    name: str
    config: TrainConfig
    device: torch.device
    tracker: MetricLogger
    lr_ratios: Mapping[str, float] = field(default_factory=dict)
    validate: Validate | None = None

    def fit(self, model: nn.Module, data: TrainingData[Any], folder: Path, fingerprint: str) -> TrainReport:
        """Train `model` in place for the budget, from the checkpoint in `folder` if there is one.

        Raises `UserError` if the subset is empty, none of its samples can be read, or the loss diverges.
        """
        from downstream.training.checkpointing import load_checkpoint, save_checkpoint
        from downstream.training.stepper import (
            Stepper,
            checkpoint_activations,
            make_optimizer,
            ready_for_steps,
        )

        if len(data.source) == 0:
            raise UserError(f"{self.name}: the subset is empty, there is nothing to train on")
        if isinstance(data.source, SampleStream) != (self.config.source == "stream"):
            raise UserError(
                f"downstream.{self.name}.training.source must be that of all models: set training.source"
            )
        accelerator = make_accelerator(self.device)
        model.to(accelerator.device)
        recipe = self.config
        if recipe.validate_every and self.validate is None and accelerator.is_main_process:
            log.warning("%s: not validated, as there is nothing to validate it on", self.name)
        if recipe.checkpointing:
            checkpoint_activations(model, self.name)
        options = {"betas": (0.9, 0.999 if recipe.beta2 is None else recipe.beta2), "eps": recipe.epsilon}
        given = recipe.optimizer, recipe.lr, recipe.weight_decay, self.lr_ratios
        optimizer = make_optimizer(model, *given, options)
        state = load_checkpoint(folder, model, optimizer, fingerprint, accelerator.device)
        resumed_from = state.step or None
        if resumed_from:
            log.info("%s: resumed at step %d of %d", self.name, resumed_from, recipe.steps)
        if not accelerator.is_main_process:
            state.skipped.clear()  # the main process holds the counts of all processes so far

        def save() -> None:
            total = state.over_processes()
            if accelerator.is_main_process:
                save_checkpoint(folder, model, optimizer, total, fingerprint)
            accelerator.wait_for_everyone()

        part = math.ceil(recipe.batch_size / accelerator.num_processes)
        micro_batch = recipe.micro_batch if recipe.micro_batch and recipe.micro_batch < part else None
        precision = recipe.precision_on(accelerator.device.type)
        prepared = accelerator.prepare(model, optimizer)
        settings = recipe.max_grad_norm or math.inf, recipe.seed, precision, micro_batch, data.levels
        stepper = Stepper(accelerator, prepared[0], prepared[1], *settings)
        with ready_for_steps(model, accelerator.device, precision, recipe.compile):
            self._loop(stepper, data, state, save)
        accelerator.unwrap_model(stepper.model, keep_fp32_wrapper=False).eval()
        return self._report(data, state.over_processes(), resumed_from)

    def _loop(
        self, stepper: Stepper, data: TrainingData[Any], state: TrainState, save: Callable[[], None]
    ) -> None:
        config, accelerator = self.config, stepper.accelerator
        ranks = (accelerator.process_index, accelerator.num_processes)
        steps = range(state.step, config.steps)
        started_at = config.seen_after(state.step)
        stepper.model.train()
        started = time.monotonic()
        earlier_seconds = state.seconds
        with progress(f"train {self.name}", config.samples_seen - started_at, "samples") as advance:
            for index, batch in zip(steps, self._load(data, steps, ranks), strict=True):
                stepped = stepper.step(index, config.lr_at(index), batch)
                before, seen = config.seen_after(index), config.seen_after(index + 1)
                last = index + 1 == config.steps
                seconds = time.monotonic() - started
                state.step = index + 1
                state.seconds = earlier_seconds + seconds
                state.skipped.update(batch.skipped)
                state.tar = batch.tar or state.tar
                rate = (seen - started_at) / seconds
                if stepped is not None and (last or state.step % config.log_every == 0):
                    state.losses.append((seen, self._log(stepper, stepped, index, seen, rate)))
                if isinstance(data.source, SampleStream) and (last or state.step % config.log_every == 0):
                    total = state.over_processes()
                    data.source.check_lost(total.skipped, seen, total.tar)
                advance(seen - before, f"loss {state.losses[-1][1]:.3f}" if state.losses else "")
                every = config.validate_every
                if every and (last or seen // every > before // every):
                    started += self._validate(stepper, seen)
                if not last and seen // config.checkpoint_every > before // config.checkpoint_every:
                    save()

    def _load(self, data: TrainingData[Any], steps: range, ranks: tuple[int, int]) -> Iterator[TrainingBatch]:
        config = self.config
        workers = config.workers_on(self.device, data.decodes)
        parts = config.samples_seen, config.batch_size, *ranks
        if isinstance(data.source, SampleStream):
            from downstream.training.streaming import StreamedBatches, stream_loader

            streamed = StreamedBatches(data, *parts, config.stream_workers, config.shuffle_mib << 20)
            return stream_loader(streamed, steps, workers, self.device)
        batches = StepBatches(data, *parts)
        return loader(batches, steps, workers, self.device)

    def _log(self, stepper: Stepper, stepped: Step, index: int, seen: int, rate: float) -> float:
        loss = stepped.loss.item()
        if not math.isfinite(loss):
            raise UserError(f"{self.name}: the loss is {loss} after {seen} samples; lower training.lr")
        if stepper.accelerator.is_main_process:
            values = {"loss": loss, "lr": self.config.lr_at(index), "samples_per_second": rate}
            values["gradient_norm"] = stepped.gradient_norm.item()
            if (memory := stepper.memory_gib()) is not None:
                values["memory_gib"] = memory
            self.tracker.log({f"{self.name}/{name}": value for name, value in values.items()}, step=seen)
        return loss

    def _validate(self, stepper: Stepper, seen: int) -> float:
        """Validate in the main process while the others wait; return the seconds, which no training is charged.

        The model is in training mode again afterwards. The random generators need no care: every step seeds them.
        """
        started, name = time.monotonic(), self.name
        if self.validate is not None and stepper.accelerator.is_main_process:
            import torch

            # Not compiled: a caption has a new shape at every token.
            with torch.compiler.set_stance("force_eager") if self.config.compile else nullcontext():
                validated = self.validate()
            stepper.model.train()
            values = {f"{name}/validation/{metric}": value for metric, value in validated.metrics.items()}
            self.tracker.log(values, step=seen)
            if validated.captions:
                self.tracker.log_captions(f"{name}/captions", validated.captions, step=seen)
        seconds = time.monotonic() - started
        stepper.accelerator.wait_for_everyone()
        return seconds

    def _report(self, data: TrainingData[Any], total: TrainState, resumed_from: int | None) -> TrainReport:
        budget = self.config.samples_seen
        if total.skipped.total() == budget:
            raise UserError(
                f"{self.name}: no sample of the subset can be read ({counts(total.skipped)}); check the pool's images"
            )
        return TrainReport(
            samples_seen=budget,
            steps=self.config.steps,
            seconds=total.seconds,
            samples_per_second=budget / total.seconds,
            epochs=data.order.epochs_in(budget),
            skipped=dict(sorted(total.skipped.items())),
            final_loss=total.losses[-1][1] if total.losses else None,
            resumed_from=resumed_from,
            losses=tuple(total.losses),
            git_commit=git_commit(),
        )
