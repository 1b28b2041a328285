"""Training as by ICC's authors: transformers' Trainer with default settings apart from the recipe (appendix A.7).

The distillation of scores into a small text encoder with one logit is in this module too (section 2, appendix A.2).
"""

import json
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset

from benchmark.core.devices import default_precision
from benchmark.core.distributed import wait_for_all
from benchmark.core.launch import is_main_process, process_count
from benchmark.core.paths import atomic_folder
from benchmark.core.progress import progress
from benchmark.core.ranges import FractionBelowOne, PositiveFloat, PositiveInt, Seed
from benchmark.models.checkpoints import load_model, load_pretrained, quiet_transformers

Item = TypeVar("Item")
SAVE_EVERY = 500  # steps between checkpoints
HEAD = ("classifier",)  # in the names of the weights of RoBERTa's head
IGNORED = -100  # label without loss; the Trainer does not count it either


@dataclass(frozen=True)
class Recipe:
    """AdamW, linear warm-up over `warmup` of all steps, then cosine to 0."""

    epochs: PositiveInt  # passes over the data
    batch: PositiveInt  # samples per step, of all devices together
    lr: PositiveFloat  # peak learning rate
    warmup: FractionBelowOne = 0.03  # fraction of the steps
    seed: Seed = 0  # random seed of the order, of new weights and of dropout
    # Maximum samples per forward pass; a device's part of a batch is accumulated over several passes. Steps and
    # losses stay the same.
    micro_batch: PositiveInt | None = None
    # Recompute activations in the backward pass: less memory, slower, the same losses.
    checkpointing: bool = False

    def identity(self) -> dict[str, float]:
        """Return what the trained weights depend on."""
        names = ("epochs", "batch", "lr", "warmup", "seed")
        return {name: getattr(self, name) for name in names}

    def passes(self, processes: int) -> tuple[int, int]:
        """Return the samples per forward pass, and passes per step, of each of the `processes`."""
        samples = self.batch // processes
        least = -(-samples // (self.micro_batch or samples))
        accumulated = next(count for count in range(least, samples + 1) if samples % count == 0)
        return samples // accumulated, accumulated


class ShuffledEpochs(Dataset[Item | None], Generic[Item]):
    """`items` in a new order per epoch, padded with None to whole batches.

    Thus the rows of a step depend neither on the number of devices nor on accumulation.
    """

    def __init__(self, items: Sequence[Item], batch: int, seed: int) -> None:
        self._items = items
        self._length = -(-len(items) // batch) * batch
        self._seed = seed
        self.set_epoch(0)

    def set_epoch(self, epoch: int) -> None:
        """Draw the order of `epoch`; called by the Trainer."""
        self._order = np.random.default_rng([self._seed, epoch]).permutation(len(self._items))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: int) -> Item | None:
        return self._items[self._order[index]] if index < len(self._items) else None


def train(
    model: nn.Module,
    items: Sequence[Item],
    collate: Callable[[list[Item | None]], dict[str, Any]],
    recipe: Recipe,
    checkpoints: Path,
    device: torch.device,
    title: str,
) -> float:
    """Train `model` in place on `items` and return the mean loss of the last tenth of the steps.

    All processes of a launch call this together. Checkpoints go to the folder `checkpoints`; an interrupted training
    resumes from the last one and ends with the same weights.

    Args:
        model: called with the output of `collate` and with `num_items_in_batch`, the number of labels of the whole
            batch; returns a dict with `loss`, the sum of the losses divided by that number.
        items: n training samples.
        collate: makes a batch with `labels`, which are `IGNORED` for padding, from items, of which None are padding.
        recipe: the recipe.
        checkpoints: folder for checkpoints.
        device: device of this process.
        title: title of the progress bar.
    """
    from transformers import Trainer, TrainerCallback, TrainingArguments, trainer_callback

    if is_main_process():
        _drop_unfinished(checkpoints)
    wait_for_all(device)
    epochs = ShuffledEpochs(items, recipe.batch, recipe.seed)
    steps = recipe.epochs * len(epochs) // recipe.batch
    with preserved_rng_state(), quiet_transformers(), progress(title, steps, "steps") as advance:
        trainer = Trainer(
            model,
            _use_one_gpu(TrainingArguments(**_arguments(recipe, steps, checkpoints, device)), device),
            data_collator=collate,
            train_dataset=epochs,
            callbacks=[_bar(TrainerCallback, advance)],
        )
        trainer.remove_callback(trainer_callback.PrinterCallback)
        trainer.train(resume_from_checkpoint=any(checkpoints.glob("checkpoint-*")))
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    tail = losses[-max(1, len(losses) // 10) :]
    return float(sum(tail) / len(tail))  # `training_loss` of the Trainer's output is that of one process


def _arguments(recipe: Recipe, steps: int, checkpoints: Path, device: torch.device) -> dict[str, Any]:
    """Return the arguments of transformers' `TrainingArguments`."""
    size, accumulated = recipe.passes(process_count())
    return {
        "output_dir": str(checkpoints),
        "num_train_epochs": recipe.epochs,
        "per_device_train_batch_size": size,
        "gradient_accumulation_steps": accumulated,
        "learning_rate": recipe.lr,
        "lr_scheduler_type": "cosine",
        "warmup_steps": recipe.warmup,  # a value below 1 is a fraction of all steps
        "seed": recipe.seed,
        "train_sampling_strategy": "sequential",  # the dataset shuffles itself
        "bf16": default_precision(device.type) == "bf16",
        "use_cpu": device.type != "cuda",
        "save_steps": SAVE_EVERY,
        "save_total_limit": 1,
        "logging_steps": min(10, steps),
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_pin_memory": device.type == "cuda",
    }


def _use_one_gpu(arguments: Any, device: torch.device) -> Any:
    """Keep a Trainer in a single process from taking all GPUs with DataParallel, and a batch on each."""
    if device.type == "cuda" and arguments.world_size == 1:
        arguments.__dict__["_setup_devices"] = device
        arguments._n_gpu = 1  # without a public setting
        torch.cuda.set_device(device)
    return arguments


def _drop_unfinished(checkpoints: Path) -> None:
    """Delete incomplete checkpoints.

    The Trainer writes a checkpoint in place, its state last, and only then deletes the previous one: a checkpoint
    is complete when its state is valid JSON.
    """
    for folder in checkpoints.glob("checkpoint-*"):
        try:
            json.loads((folder / "trainer_state.json").read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            shutil.rmtree(folder)


@contextmanager
def preserved_rng_state() -> Iterator[None]:
    """Restore the global random states of Python, NumPy and torch, which the Trainer seeds."""
    python, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002  the legacy generator is seeded
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(legacy)  # noqa: NPY002


def _bar(base: type, advance: Callable[[int, str], None]) -> Any:
    """Return a callback, of transformers' class `base`, that advances the progress bar."""

    class Bar(base):  # type: ignore[misc]
        loss: Any = None  # until one is logged

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
            self.loss = (logs or {}).get("loss", self.loss)

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            advance(1, "" if self.loss is None else f"loss {float(self.loss):.4f}")

    return Bar()


class Regression(nn.Module):
    """A sequence classifier of one label, trained with mean squared error."""

    accepts_loss_kwargs = True  # makes the Trainer pass `num_items_in_batch`

    def __init__(self, classifier: Any) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(
        self, labels: Tensor, num_items_in_batch: Tensor | None = None, **inputs: Tensor
    ) -> dict[str, Tensor]:
        """Return the mean squared error against `labels` of shape (n,), over `num_items_in_batch` labels if given."""
        counted = labels != IGNORED
        errors = (self.classifier(**inputs).logits[:, 0].float() - labels)[counted] ** 2
        return {"loss": errors.mean() if num_items_in_batch is None else errors.sum() / num_items_in_batch}


def distill(
    captions: Sequence[str],
    targets: npt.NDArray[np.float32],
    base: str,
    recipe: Recipe,
    folder: Path,
    device: torch.device,
) -> dict[str, float]:
    """Train `base` to predict `targets` from `captions`; write it to ``folder/model`` and return its last loss.

    The output is a sequence-classification checkpoint in the format of the released scorer: `filter=icc
    filter.checkpoint=FOLDER/model` loads it, and so does transformers.

    Args:
        captions: n texts.
        targets: target scores of shape (n,).
        base: hub name or folder of the text encoder; the paper's is distilroberta-base.
        recipe: training recipe.
        folder: output folder, also for checkpoints.
        device: device to train on.
    """
    tokenizer = load_pretrained("AutoTokenizer", base)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)  # the head is new
        classifier = load_model(
            "AutoModelForSequenceClassification", base, HEAD, num_labels=1, problem_type="regression"
        )
    items = list(zip(captions, targets.tolist(), strict=True))
    checkpoints = folder / "checkpoints"
    loss = train(
        Regression(classifier),
        items,
        _Collate(tokenizer),
        recipe,
        checkpoints,
        device,
        f"distill {folder.parent.name}",
    )
    if is_main_process():
        with atomic_folder(folder / "model") as temporary, quiet_transformers():
            classifier.to("cpu").save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
        shutil.rmtree(checkpoints, ignore_errors=True)
    return {"loss": loss}


class _Collate:
    """Tokenises captions and their targets; None is a row without loss."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, items: list[tuple[str, float] | None]) -> dict[str, Tensor]:
        texts, targets = zip(*(item or ("", IGNORED) for item in items), strict=True)
        inputs = self.tokenizer(list(texts), truncation=True, padding=True, return_tensors="pt")
        return {**inputs, "labels": torch.tensor(targets, dtype=torch.float32)}
