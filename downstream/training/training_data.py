"""What the trainer reads: a seeded order of samples, cut into batches, with the unreadable ones counted."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import Field, dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import DataLoader, Dataset

from benchmark.core.batch import SampleError

IndexArray = npt.NDArray[np.int64]
Inputs = dict[str, torch.Tensor]
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
# They set draws that follow from the seed and a position apart from each other, and from those of the order.
_CAPTION_DRAWS, _IMAGE_DRAWS = 0xCA9710, 0x1A6E50


class Captioned(Protocol):
    """A sample, as a dataclass, with its caption and the other captions of its image."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def text(self) -> str:
        """The caption."""

    @property
    def others(self) -> tuple[str, ...]:
        """The other captions."""


Pair = TypeVar("Pair", bound=Captioned)


class Samples(Protocol[T_co]):
    """A subset: random access to its samples; `SampleError` for one that cannot be read. Picklable."""

    def __len__(self) -> int:
        """Return how many samples there are."""

    def __getitem__(self, index: int, /) -> T_co:
        """Return sample `index`."""


class EpochSamples(Samples[T_co], Protocol[T_co]):
    """A subset that says what is drawn in each epoch."""

    @property
    def epochs(self) -> tuple[IndexArray, ...]:
        """The indices of one epoch, or of several that take turns."""


@lru_cache(maxsize=2)
def _permutation(length: int, seed: int, epoch: int) -> IndexArray:
    return np.random.default_rng([seed, epoch]).permutation(length)


@dataclass(frozen=True)
class SampleOrder:
    """Which sample is drawn at each position of the budget: seeded permutations, one epoch after another.

    Every position follows from (seed, epoch) alone, so a resumed training needs to know its step and nothing
    else. `epochs` holds the indices of one epoch or of several that take turns (a new draw each epoch).
    """

    epochs: tuple[IndexArray, ...]
    seed: int

    @classmethod
    def over(cls, samples: int, seed: int) -> "SampleOrder":
        """Every epoch is all of `samples`."""
        return cls((np.arange(samples, dtype=np.int64),), seed)

    def indices(self, start: int, stop: int) -> IndexArray:
        """Return the sample indices of positions `start` to `stop`, shape (stop - start,)."""
        epoch, offset = self._locate(start)
        parts: list[IndexArray] = []
        missing = stop - start
        while missing > 0:
            chosen = self.epochs[epoch % len(self.epochs)]
            order = _permutation(len(chosen), self.seed, epoch)[offset : offset + missing]
            parts.append(chosen[order])
            missing -= len(order)
            epoch, offset = epoch + 1, 0
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def epochs_in(self, positions: int) -> float:
        """Return how many epochs the first `positions` positions are."""
        epoch, offset = self._locate(positions)
        return epoch + offset / len(self.epochs[epoch % len(self.epochs)])

    def _locate(self, position: int) -> tuple[int, int]:
        ends = np.cumsum([len(epoch) for epoch in self.epochs])
        rounds, rest = divmod(position, int(ends[-1]))
        turn = int(np.searchsorted(ends, rest, side="right"))
        return rounds * len(self.epochs) + turn, rest - (int(ends[turn - 1]) if turn else 0)


def read_samples(source: Samples[T], indices: Sequence[int] | IndexArray) -> tuple[list[T], list[str | None]]:
    """Read `indices` of `source`: the readable samples, and for each index its drop reason or None."""
    samples: list[T] = []
    reasons: list[str | None] = []
    for index in indices:
        try:
            samples.append(source[int(index)])
            reasons.append(None)
        except SampleError as error:
            reasons.append(error.reason)
    return samples, reasons


def draw_caption(sample: Pair, seed: int, position: int) -> Pair:
    """Return `sample` with one of its captions, each as likely as any other (DS-CLIP, appendix A).

    The draw follows from (seed, position in the budget) alone: whoever resumes or shares a training draws the same.
    """
    if not sample.others:
        return sample
    captions = (sample.text, *sample.others)
    drawn = np.random.default_rng([seed, position, _CAPTION_DRAWS]).integers(len(captions))
    return replace(sample, text=captions[drawn])


class TrainingBatch(NamedTuple):
    """This process's part of one step. `inputs` is empty when none of its samples could be read."""

    inputs: Inputs
    size: int
    skipped: dict[str, int]


@dataclass(frozen=True)
class TrainingData(Generic[Pair]):
    """Where the samples come from, in which order, and how a list of them becomes tensors.

    `augment` changes a sample at random each time it is seen.
    """

    source: Samples[Pair]
    order: SampleOrder
    collate: Callable[[list[Pair]], Inputs]
    augment: Callable[[Pair, np.random.Generator], Pair] | None = None

    def batch(self, positions: range, rank: int, ranks: int) -> TrainingBatch:
        """Read rank's share of the samples at `positions`."""
        indices = self.order.indices(positions.start, positions.stop)[rank::ranks]
        samples, reasons = read_samples(self.source, indices)
        mine = zip(positions[rank::ranks], reasons, strict=True)
        read = zip(samples, (position for position, reason in mine if reason is None), strict=True)
        samples = [self._view(sample, position) for sample, position in read]
        skipped = Counter(reason for reason in reasons if reason is not None)
        return TrainingBatch(self.collate(samples) if samples else {}, len(samples), dict(skipped))

    def _view(self, sample: Pair, position: int) -> Pair:
        """Return what is seen of a sample at a position: one of its captions, and its image changed."""
        sample = draw_caption(sample, self.order.seed, position)
        if self.augment is None:
            return sample
        return self.augment(sample, np.random.default_rng([self.order.seed, position, _IMAGE_DRAWS]))


@dataclass(frozen=True)
class StepBatches(Dataset[TrainingBatch]):
    """Item s is this process's part of step s; the last step is cut so that the budget is met exactly."""

    data: TrainingData[Any]
    budget: int
    batch_size: int
    rank: int = 0
    ranks: int = 1

    def __getitem__(self, step: int) -> TrainingBatch:
        start = step * self.batch_size
        positions = range(start, min(start + self.batch_size, self.budget))
        return self.data.batch(positions, self.rank, self.ranks)


def _configure_worker(worker: int) -> None:
    # A forked worker must not use the threads of its parent's tokenizer: they are gone, it would hang.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"


def loader(dataset: Dataset[T], items: range, workers: int, device: torch.device) -> Iterator[T]:
    """Iterate over `items` of `dataset` in order, read ahead by `workers` processes (0: none)."""
    return iter(
        DataLoader(
            dataset,
            batch_size=None,
            sampler=items,
            num_workers=workers,
            worker_init_fn=_configure_worker,
            pin_memory=device.type == "cuda",
            # Without one of its own, every loader would draw a number from the global generator.
            generator=torch.Generator(),
        )
    )
