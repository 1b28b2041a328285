"""Training batches: a seeded order of samples, cut into steps; unreadable samples are counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from benchmark.core.batch import Sample, SampleError, model_text
from benchmark.core.pixel_workers import to_levels

if TYPE_CHECKING:
    import torch

IndexArray = npt.NDArray[np.int64]
Inputs = dict[str, "torch.Tensor"]
STREAM_GROUPS = 8  # parts of each step of a stream; a process reads some of them
T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
# Appended to (seed, position), so that draws of captions and of images are independent.
_CAPTION_DRAWS, _IMAGE_DRAWS = 0xCA9710, 0x1A6E50


@dataclass(frozen=True, eq=False)
class EmbeddedSample:
    """A pair with the embedding of its image, shape (d,), and the other captions of the image, see `Sample`."""

    text: str
    features: npt.NDArray[np.float32]
    others: tuple[str | None, ...] = ()


Pair = TypeVar("Pair", bound=Sample | EmbeddedSample)


class Samples(Protocol[T_co]):
    """A subset: random access to its samples; `SampleError` for an unreadable sample. Picklable."""

    def __len__(self) -> int:
        """Return how many samples there are."""

    def __getitem__(self, index: int, /) -> T_co:
        """Return sample `index`."""


class EpochSamples(Samples[T_co], Protocol[T_co]):
    """A subset that knows which samples each epoch draws, and how other captions are used."""

    @property
    def epochs(self) -> tuple[IndexArray, ...]:
        """The sample indices of one epoch, or of several that are cycled through."""

    @property
    def caption_weights(self) -> tuple[float, ...]:
        """The weight of the loss of each other caption; empty if one caption of all is drawn at each view."""


@runtime_checkable
class SampleStream(Protocol[T_co]):
    """A subset in shards; each shard is read from front to back. Picklable.

    Its attributes are the number of samples of each shard, the bytes per encoded sample in the
    shard with the largest mean, all samples as the one epoch, and the weights of other captions as in `EpochSamples`.
    """

    sizes: IndexArray
    sample_bytes: int
    epochs: tuple[range]
    caption_weights: tuple[float, ...]

    def __len__(self) -> int:
        """Return how many samples there are."""

    def read(self, shard: int, start: int, stop: int) -> Iterator[Any]:
        """Yield the encoded samples `start` to `stop` - 1 of a shard, exactly so many; each has its `tar`."""

    def decode(self, encoded: Any, /) -> T_co:
        """Return the sample. Raises `SampleError` if it is unreadable."""

    def check_lost(self, lost: Mapping[str, int], seen: int, tar: str) -> None:
        """Raise `UserError` if too many of the samples seen so far were lost, by reason; the last one in `tar`."""


TrainingSubset = EpochSamples[Sample] | SampleStream[Sample]


@lru_cache(maxsize=2)
def _permutation(length: int, seed: int, epoch: int) -> IndexArray:
    return np.random.default_rng([seed, epoch]).permutation(length)


@dataclass(frozen=True)
class SampleOrder:
    """The sample at each position of the budget: seeded permutations, one epoch after another.

    The order of an epoch depends only on (seed, epoch), so a resumed training needs only its step. `epochs` holds
    the sample indices of one epoch, or of several that are cycled through.
    """

    epochs: Sequence[IndexArray | range]
    seed: int

    @classmethod
    def over(cls, samples: int, seed: int) -> SampleOrder:
        """Return the order in which every epoch has all of 0 to `samples` - 1."""
        return cls((np.arange(samples, dtype=np.int64),), seed)

    def indices(self, start: int, stop: int) -> IndexArray:
        """Return the sample indices of positions `start` to `stop`, shape (stop - start,)."""
        epoch, offset = self._locate(start)
        parts: list[IndexArray] = []
        missing = stop - start
        while missing > 0:
            chosen = self.epochs[epoch % len(self.epochs)]
            order = _permutation(len(chosen), self.seed, epoch)[offset : offset + missing]
            parts.append(np.asarray(chosen)[order])
            missing -= len(order)
            epoch, offset = epoch + 1, 0
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def epochs_in(self, positions: int) -> float:
        """Return the number of epochs, with fraction, in the first `positions` positions."""
        epoch, offset = self._locate(positions)
        return epoch + offset / len(self.epochs[epoch % len(self.epochs)])

    def _locate(self, position: int) -> tuple[int, int]:
        """Return the epoch of a position, counted over all cycles, and the offset in it."""
        ends = np.cumsum([len(epoch) for epoch in self.epochs])
        cycles, rest = divmod(position, int(ends[-1]))
        epoch = int(np.searchsorted(ends, rest, side="right"))
        return cycles * len(self.epochs) + epoch, rest - (int(ends[epoch - 1]) if epoch else 0)


def read_samples(read: Callable[[Any], T], items: Sequence[Any]) -> tuple[list[T], list[str | None]]:
    """Return the readable samples of `items`, and for each item its drop reason or None."""
    samples: list[T] = []
    reasons: list[str | None] = []
    for item in items:
        try:
            samples.append(read(item))
            reasons.append(None)
        except SampleError as error:
            reasons.append(error.reason)
    return samples, reasons


def draw_caption(sample: Pair, seed: int, position: int) -> Pair:
    """Return `sample` with one of its captions, drawn uniformly.

    The draw depends only on (seed, position in the budget): it is the same in a resumed training and on any number
    of processes.
    """
    others = [caption for caption in sample.others if caption is not None]
    if not others:
        return sample
    captions = (sample.text, *others)
    drawn = np.random.default_rng([seed, position, _CAPTION_DRAWS]).integers(len(captions))
    return replace(sample, text=captions[drawn])


class TrainingBatch(NamedTuple):
    """This process's part of a step. `inputs` is empty if none of its samples could be read."""

    inputs: Inputs
    size: int
    skipped: dict[str, int]
    tar: str = ""  # of a stream's last skipped sample


@dataclass(frozen=True)
class TrainingData(Generic[Pair]):
    """Source and order of the samples, and how a list of samples becomes tensors.

    `augment` changes a sample at random each time it is drawn; `decodes` says whether samples have images to decode,
    which is worth other processes; `draws` whether a view has one of the sample's captions, or all of them. Batches
    have the `levels` of ``pixel_values``, if there are any, see `pixel_levels`.
    """

    source: Samples[Pair] | SampleStream[Pair]
    order: SampleOrder
    collate: Callable[[list[Pair]], Inputs]
    augment: Callable[[Pair, np.random.Generator], Pair] | None = None
    decodes: bool = True
    draws: bool = True
    levels: torch.Tensor | None = None

    def batch(self, read: Callable[[Any], Pair], items: Sequence[Any], positions: range) -> TrainingBatch:
        """Read the samples of `items`, at `positions` of the budget; `read` raises `SampleError`."""
        samples, reasons = read_samples(read, items)
        readable = [at for at, reason in zip(positions, reasons, strict=True) if reason is None]
        samples = [self._view(sample, position) for sample, position in zip(samples, readable, strict=True)]
        skipped = Counter(reason for reason in reasons if reason is not None)
        lost = [item for item, reason in zip(items, reasons, strict=True) if reason is not None]
        tar = lost[-1].tar if lost and isinstance(self.source, SampleStream) else ""
        inputs = self.collate(samples) if samples else {}
        if "pixel_values" in inputs:
            inputs["pixel_values"] = to_levels(inputs["pixel_values"], self.levels)
        return TrainingBatch(inputs, len(samples), dict(skipped), tar)

    def _view(self, sample: Pair, position: int) -> Pair:
        """Return the sample as drawn at `position`: with its captions, as models read them, and augmented."""
        if self.draws:
            sample = replace(draw_caption(sample, self.order.seed, position), others=())
        others = tuple(None if caption is None else model_text(caption) for caption in sample.others)
        sample = replace(sample, text=model_text(sample.text), others=others)
        if self.augment is None:
            return sample
        return self.augment(sample, np.random.default_rng([self.order.seed, position, _IMAGE_DRAWS]))


@dataclass(frozen=True)
class StepBatches:
    """Item s is this process's part of step s; the last step is smaller, so that the budget is met exactly."""

    data: TrainingData[Any]
    budget: int
    batch_size: int
    rank: int = 0
    ranks: int = 1

    def __getitem__(self, step: int, /) -> TrainingBatch:
        source, positions = self.data.source, self.positions(step)
        assert not isinstance(source, SampleStream)
        indices = self.data.order.indices(positions.start, positions.stop)[:: positions.step]
        return self.data.batch(source.__getitem__, indices.tolist(), positions)

    def positions(self, step: int) -> range:
        """Return the positions of the budget that are this process's part of a step."""
        start = step * self.batch_size
        return range(start, min(start + self.batch_size, self.budget))[self.rank :: self.ranks]
