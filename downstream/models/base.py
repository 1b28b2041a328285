"""What both downstream models share: train once, save and load, work through images in batches."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import torch
from PIL import Image
from safetensors import SafetensorError

from benchmark.core.batch import Sample
from benchmark.core.errors import UserError
from benchmark.core.launch import make_accelerator
from benchmark.core.metric_logger import MetricLogger
from benchmark.core.paths import atomic_folder
from benchmark.models.checkpoints import locate_checkpoint, quiet_transformers
from downstream.training.checkpointing import TrainReport, finished, mark_finished
from downstream.training.trainer import TrainConfig
from downstream.training.training_data import EpochSamples

T = TypeVar("T")
CPU = torch.device("cpu")


class Downstream(ABC):
    """A model that is trained on a subset for the budget, then evaluated."""

    name: ClassVar[str]
    training: TrainConfig
    device: torch.device

    def train(
        self,
        subset: EpochSamples[Sample],
        run_dir: Path,
        device: torch.device,
        tracker: MetricLogger,
        fingerprint: str,
    ) -> TrainReport:
        """Train on `subset`, and leave the model in ``run_dir/model``.

        A training of the same `fingerprint` that was finished there is loaded instead of repeated; one that was
        killed goes on where it was. Raises `UserError` for a checkpoint, subset or budget that cannot be used.
        """
        report = finished(run_dir, fingerprint)
        if report is not None:
            self.load(run_dir, device)
            return report
        (run_dir / "finished.json").unlink(missing_ok=True)
        self.build(device)
        report = self.fit(subset, run_dir, tracker, fingerprint)
        accelerator = make_accelerator(device)
        if accelerator.is_main_process:
            with atomic_folder(run_dir / "model") as temporary, quiet_transformers():
                self.save(temporary)
            mark_finished(run_dir, fingerprint, report)
            for path in self.working_folders(run_dir):
                shutil.rmtree(path, ignore_errors=True)
        accelerator.wait_for_everyone()
        return report

    @abstractmethod
    def build(self, device: torch.device) -> None:
        """Make the untrained model of its parts."""

    @abstractmethod
    def fit(
        self, subset: EpochSamples[Sample], folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Train the built model."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the model to the folder `path` in the hub's format."""

    @abstractmethod
    def load(self, path: Path, device: torch.device = CPU) -> None:
        """Load what `save` wrote to `path`, or what `train` left in it."""

    def working_folders(self, folder: Path) -> list[Path]:
        """Return what a finished training no longer needs."""
        return [folder / "checkpoints"]


def model_folder(path: Path) -> Path:
    """Return the folder of the model: `path`, or ``path/model`` where `path` is the folder of a training."""
    inner = path / "model"
    return inner if inner.is_dir() else path


def load_pretrained(auto_class: Any, name: str, **options: Any) -> Any:
    """Load `name` (path or hub name) through a transformers Auto class; `UserError` if its files do not fit."""
    folder = locate_checkpoint(name)
    try:
        with quiet_transformers():
            return auto_class.from_pretrained(folder, local_files_only=True, **options)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise UserError(f"checkpoint {name} does not load as {auto_class.__name__}: {reason}") from error


def load_model(auto_class: Any, name: str, new: tuple[str, ...] = (), **options: Any) -> Any:
    """Load the weights of `name` in fp32; only those whose name holds one of `new` may be missing.

    transformers draws missing weights at random and says so in a log: a whole tower would start from noise.
    """
    model, info = load_pretrained(auto_class, name, dtype=torch.float32, output_loading_info=True, **options)
    missing = sorted(key for key in info["missing_keys"] if not any(part in key for part in new))
    if missing:
        raise UserError(
            f"checkpoint {name} lacks {len(missing)} weights of {type(model).__name__}: {missing[0]}, ..."
        )
    return model


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw new weights from `seed`, and leave the global generator as it was."""
    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(seed)
        yield


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Cut `items` into lists of `size`."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def to_pixels(processor: Any, images: list[Image.Image]) -> torch.Tensor:
    """Return what the checkpoint's own image processor makes of `images`, shape (n, 3, height, width)."""
    pixels: torch.Tensor = processor(images=images, return_tensors="pt")["pixel_values"]
    return pixels


def half_precision(device: torch.device) -> torch.autocast:
    """Return bf16 autocast on a GPU, nothing elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
