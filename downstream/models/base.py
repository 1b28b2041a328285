"""The base of trained models: identity, training once, saving and loading, checkpoints as settings."""

from __future__ import annotations

import copy
import inspect
import logging
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from benchmark.core.batch import Sample
from benchmark.core.cached_files import read_cached
from benchmark.core.devices import autocast, tf32
from benchmark.core.distributed import broadcast_from_main, wait_for_all
from benchmark.core.errors import UnwritableError, UserError
from benchmark.core.hashes import hash_json
from benchmark.core.identity import Identified
from benchmark.core.launch import is_main_process
from benchmark.core.paths import atomic_folder, cache_folder, write_cached
from benchmark.core.progress import MetricLogger
from benchmark.core.requirements import Requirement
from benchmark.core.source_code import own_code
from benchmark.models.checkpoints import (
    checkpoint_requirement,
    load_pretrained,
    locate_checkpoint,
    quiet_transformers,
    revision,
)
from downstream.batching import pixel_batches, to_pixels
from downstream.evaluation.captioning import evaluate_captions
from downstream.evaluation.protocols import Evaluated, Sets, Validate
from downstream.metrics.base import CaptionMetric
from downstream.training.train_report import TrainReport, finished, mark_finished
from downstream.training.trainer import TrainConfig, recipe_key
from downstream.training.training_data import TrainingSubset

if TYPE_CHECKING:
    import torch

log = logging.getLogger(__name__)
WIDE, TALL = (96, 64), (64, 96)  # images of a trial
LONG, SHORT = "a " * 2_000, "a cat"  # captions of a trial; a model takes fewer tokens


@dataclass(frozen=True)
class Checkpoint(Identified):
    """A setting that names pretrained weights, hub name or folder. Its identity is their revision.

    As text it is the setting with its value, for errors.
    """

    name: str
    setting: str = "checkpoint"

    def __str__(self) -> str:
        return f"{self.setting}={self.name}"

    def identity(self) -> dict[str, Any]:
        """Return the revision of the weights. Raises `UserError` if they cannot be had."""
        return {"revision": revision(locate_checkpoint(self.name))}

    def requirements(self) -> Iterator[Requirement]:
        """Yield the weights."""
        yield checkpoint_requirement(self.name)

    def config_of(self, mapping: Any, argument: str, need: str) -> Any:
        """Return the config. Raises `UserError`, with the `need`, if models of its family take no such argument.

        `mapping` is one of transformers, from classes of configs to classes of models.
        """
        config = load_pretrained("AutoConfig", self.name)
        model = mapping.get(type(config), None)  # None: loading it says why not
        functions = (model, model.forward) if hasattr(model, "forward") else ()
        if functions and not any(argument in inspect.signature(f).parameters for f in functions):
            raise UserError(f"{self} ({config.model_type}) must be {need}")
        return config

    def check_images(self, processor: Any, encoder: Any) -> None:
        """Raise `UserError` unless the encoder takes the images that its processor makes, all of one size."""
        import torch

        if not hasattr(encoder.config, "hidden_size"):
            raise UserError(
                f"{self} must have one width at all layers (hidden_size in its config.json); choose a ViT, or for"
                " captioners a Swin or a model of timm"
            )
        pixels = [to_pixels(processor, [Image.new("RGB", size)]) for size in (WIDE, TALL)]
        made = {tuple(of_image.shape[2:]) for of_image in pixels}
        taken = getattr(encoder.config, "image_size", None)
        try:
            with seeded(0), torch.inference_mode():
                encoder(pixel_values=torch.cat(pixels))
        except (ValueError, RuntimeError) as error:
            if made == {(taken, taken) if isinstance(taken, int) else taken}:
                raise
            sizes = " and ".join(f"{height} x {width}" for height, width in sorted(made))
            raise UserError(
                f"{self}: its image processor must make one size that its model takes ({taken or 'any'}), not {sizes}"
                ' pixels; set "size" in its preprocessor_config.json'
            ) from error


class Trainable(Identified, ABC):
    """A model that is trained on a subset for the budget.

    The arguments of its constructor are its settings, kept in attributes of the same names. They are its identity:
    a training is reused if identity and subset are the same. A setting that names pretrained weights is kept as a
    `Checkpoint`, so that other weights, not another folder, make another training.
    """

    name: ClassVar[str]
    training: TrainConfig
    device: torch.device
    workers_in_keys: ClassVar[int] = 1  # see `recipe_key`
    validate: Validate | None = None  # called every `training.validate_every` samples

    def identity(self) -> dict[str, Any]:
        """Return the class and its settings, checkpoints by revision, without the attributes that `build` sets."""
        attributes = super().identity()
        settings = inspect.signature(type(self)).parameters
        identity = {name: attributes[name] for name in ("class", *settings)}
        return identity | {"training": recipe_key(identity["training"], self.workers_in_keys)}

    def inference(self) -> AbstractContextManager[None]:
        """Compute without gradients, in the precision of the training."""
        return inference(self.training.precision_on(self.device.type), self.device)

    def train(
        self,
        subset: TrainingSubset,
        run_dir: Path,
        device: torch.device,
        tracker: MetricLogger,
        fingerprint: str,
    ) -> TrainReport:
        """Train on `subset`, and leave the model in ``run_dir/model``.

        A finished training of the same `fingerprint` is loaded by the main process instead of repeated; a killed one
        is resumed. Raises `UserError` for a checkpoint, subset or budget that cannot be used.
        """
        earlier = finished(run_dir, fingerprint) if is_main_process() else None
        if earlier is not None:
            self.load(run_dir, device)
        (report,) = broadcast_from_main((earlier,), device)
        if report is not None:
            return report
        self.build(device)
        report = self.fit(subset, run_dir, tracker, fingerprint)
        if is_main_process():
            (run_dir / "finished.json").unlink(missing_ok=True)
            with atomic_folder(run_dir / "model") as temporary, quiet_transformers():
                self.save(temporary)
            mark_finished(run_dir, fingerprint, report)
        wait_for_all(device)
        for name in ("checkpoints", "embeddings"):  # of each node; 8 GB per million images of a ResNet
            shutil.rmtree(run_dir / name, ignore_errors=True)
        return report

    def tried(self) -> str:
        """Try the model on two captions and an image unless it was tried before; return how it went.

        In a launch the main process tries; the others only fetch the checkpoints. Raises `UserError` as `try_out`.
        """
        identity = {name: value for name, value in self.identity().items() if name != "training"}
        key = hash_json([identity, own_code(type(self)), version("transformers")], 16)
        path = cache_folder("trials", f"{key}.json")
        if is_main_process() and read_cached(path) is None:
            import torch

            log.info("%s: trying its checkpoints on two captions and an image", self.name)
            pairs = [Sample("", text, Image.new("RGB", WIDE)) for text in (LONG, SHORT)]
            trial = copy.copy(self)  # dropped with its network
            trial.training = replace(self.training, precision="auto")  # that of the training may need a GPU
            with quiet_transformers():
                trial.try_out(pairs, torch.device("cpu"))
            with suppress(UnwritableError):  # the next command tries again
                write_cached(path, self.name)
        return "two captions and an image go through its network"

    def try_out(self, pairs: Sequence[Sample], device: torch.device) -> None:
        """Build the model and use it for some pairs; by default do nothing.

        Raises `UserError` for checkpoints that do not fit.
        """

    @abstractmethod
    def build(self, device: torch.device) -> None:
        """Make the untrained model: load its checkpoints, draw new weights from the seed."""

    @abstractmethod
    def fit(
        self, subset: TrainingSubset, folder: Path, tracker: MetricLogger, fingerprint: str
    ) -> TrainReport:
        """Train the built model on `subset` for the budget; `folder` is for checkpoints and other working files."""

    @abstractmethod
    def save(self, path: Path) -> None:
        """Write the model to the folder `path`, if possible in the hub's format."""

    @abstractmethod
    def load(self, path: Path, device: torch.device) -> None:
        """Load the model that `save` wrote to `path`, or that `train` left in ``path/model``."""


class Downstream(Trainable):
    """A trainable model that the benchmark evaluates: its metrics say how good the subset was."""

    @abstractmethod
    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Evaluate the trained model on every set that fits it; `folder` gets the outputs that people may want to
        see.

        `metrics` are of captions, for a model that writes captions; their models run on `device`.
        """


class CaptioningModel(Downstream):
    """A model whose captions are evaluated; `build` and `load` set its network, image processor and tokenizer."""

    model: Any
    processor: Any
    tokenizer: Any
    eval_batch_size: int

    @abstractmethod
    def generate(self, pixels: torch.Tensor) -> Any:
        """Return the token ids of a caption per image, (n, t), by beam search, from pixels (n, 3, h, w)."""

    def caption(self, images: Iterable[Image.Image]) -> list[str]:
        """Return one caption per RGB image, a single line; independent of the batch size."""
        self.model.eval()
        captions: list[str] = []
        preprocess = partial(to_pixels, self.processor)
        for pixels in pixel_batches(images, preprocess, self.eval_batch_size, self.device):
            with self.inference():
                ids = self.generate(pixels)
            # Metrics tools count lines, some of them by Unicode's rules: a caption must be one line.
            texts = self.tokenizer.batch_decode(ids, skip_special_tokens=True)
            captions += [" ".join(text.split()) for text in texts]
        return captions

    def evaluate(
        self, sets: Sets, metrics: Sequence[CaptionMetric], folder: Path, device: torch.device
    ) -> Evaluated:
        """Caption the images of every set for captioning, and score the captions."""
        return evaluate_captions(self, sets, metrics, folder, device)


def model_folder(path: Path) -> Path:
    """Return the folder of the model: ``path/model`` if `path` is the folder of a training, else `path`."""
    inner = path / "model"
    return inner if inner.is_dir() else path


@contextmanager
def inference(precision: str, device: torch.device) -> Iterator[None]:
    """Compute without gradients, in fp32, bf16 or tf32."""
    import torch

    with torch.inference_mode(), autocast(precision, device), tf32(precision == "tf32"):
        yield


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw new weights from `seed`; the global generator is restored afterwards."""
    import torch

    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(seed)
        yield


def start_and_end(tokenizer: Any) -> tuple[int, int]:
    """Return the ids of the first and the last token of a caption; a tokenizer without bos starts with eos."""
    end = tokenizer.eos_token_id
    if end is None:
        raise UserError(
            f"the tokenizer of {tokenizer.name_or_path} must have an end token; choose a causal decoder (gpt2)"
        )
    return (end if tokenizer.bos_token_id is None else tokenizer.bos_token_id), end
