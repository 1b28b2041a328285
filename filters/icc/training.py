"""Training as by ICC's authors: transformers' Trainer with default settings apart from the recipe (appendix A.7)."""

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from benchmark.core.progress import progress
from benchmark.models.checkpoints import quiet_transformers

Item = TypeVar("Item")
SAVE_EVERY = 500  # steps between checkpoints


@dataclass(frozen=True)
class Recipe:
    """AdamW, linear warm-up over `warmup` of all steps, then cosine to 0; `lr` is the peak rate."""

    epochs: int
    batch: int
    lr: float
    warmup: float = 0.03
    seed: int = 0


def train(
    model: nn.Module,
    items: Sequence[Item],
    collate: Callable[[list[Item]], dict[str, Any]],
    recipe: Recipe,
    checkpoints: Path,
    device: torch.device,
    title: str,
) -> float:
    """Train `model` in place on `items` and return the mean loss of the last tenth of the steps.

    `model` is called with the output of `collate` and returns a dict with `loss`. Checkpoints go to the folder
    `checkpoints`; an interrupted training resumes from the last one and ends with the same weights.
    """
    from transformers import Trainer, TrainingArguments
    from transformers.trainer_callback import PrinterCallback

    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.batch,
        learning_rate=recipe.lr,
        lr_scheduler_type="cosine",
        warmup_steps=recipe.warmup,  # a value below 1 is a share of all steps
        seed=recipe.seed,
        bf16=device.type == "cuda",
        use_cpu=device.type == "cpu",
        save_steps=SAVE_EVERY,
        save_total_limit=1,
        logging_steps=10,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=device.type == "cuda",
    )
    with (
        preserved_rng_state(),
        quiet_transformers(),
        progress(title, _steps(items, recipe), "steps") as advance,
    ):
        trainer = Trainer(
            model, arguments, data_collator=collate, train_dataset=items, callbacks=[_bar(advance)]
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=_drop_unfinished(checkpoints))
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    tail = losses[-max(1, len(losses) // 10) :]
    return sum(tail) / len(tail) if tail else float("nan")


def _drop_unfinished(checkpoints: Path) -> bool:
    """Delete incomplete checkpoints and return whether a complete one is left to resume from.

    The Trainer writes a checkpoint in place, its state last, and only then deletes the previous one: a checkpoint
    is complete when its state is valid JSON.
    """
    complete = False
    for folder in checkpoints.glob("checkpoint-*"):
        try:
            json.loads((folder / "trainer_state.json").read_text("utf-8"))
            complete = True
        except (FileNotFoundError, ValueError):
            shutil.rmtree(folder)
    return complete


@contextmanager
def preserved_rng_state() -> Iterator[None]:
    """Restore the global random states of Python, NumPy and torch, which the Trainer seeds."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  the legacy generator is what gets seeded
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002


def _steps(items: Sequence[Item], recipe: Recipe) -> int:
    return recipe.epochs * -(-len(items) // recipe.batch)


def _bar(advance: Callable[[int, str], None]) -> Any:
    """Return a callback of the Trainer that advances the progress bar."""
    from transformers import TrainerCallback

    class Bar(TrainerCallback):
        loss = float("nan")

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            self.loss = (logs or {}).get("loss", self.loss)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            advance(1, f"loss {float(self.loss):.4f}")

    return Bar()
