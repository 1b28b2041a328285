"""Training batches from a stream: shards divided over processes and workers, and shuffled.

The shards of an epoch, in random order, are cut into streams, each with as many samples as it gives to the epoch's
steps. A position of the budget belongs to a stream by its offset in the step (group) and by the step (worker). So a
process reads its own groups, and 1, 2, 4 or 8 processes train on the same batches. The order follows from (seed,
epoch), the number of streams and the bytes that each shuffles at a time: a killed training needs only its step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch.utils.data

from benchmark.core.errors import UserError, panics_as_errors
from downstream.batching import chunks
from downstream.training.batch_loader import load
from downstream.training.training_data import (
    STREAM_GROUPS,
    IndexArray,
    SampleStream,
    StepBatches,
    TrainingBatch,
)


@dataclass(frozen=True)
class StreamedBatches(StepBatches):
    """The parts of steps, as in `StepBatches`, that are read from the streams of this process.

    Args:
        workers: streams of each group. Step s is read from number s % `workers`.
        shuffle_bytes: encoded samples of a stream that are shuffled at a time.
    """

    workers: int = 1
    shuffle_bytes: int = 2**24

    @property
    def source(self) -> SampleStream[Any]:
        """The streamed subset."""
        assert isinstance(self.data.source, SampleStream)
        return self.data.source

    @property
    def groups(self) -> int:
        """Number of groups, a multiple of the number of processes."""
        return math.lcm(STREAM_GROUPS, self.ranks)

    def batches(self, steps: range) -> Iterator[TrainingBatch]:
        """Yield this process's part of each of `steps`, every k-th; k must divide `workers` if they are many."""
        # Encoded samples, by number of the stream and epoch.
        streams: dict[tuple[int, int], Iterator[Any]] = {}
        for step in steps:
            encoded, positions = [], self.positions(step)
            for position in positions:
                number = position % self.batch_size % self.groups * self.workers + step % self.workers
                epoch = position // len(self.source)
                if (number, epoch) not in streams:
                    streams.pop((number, epoch - 1), None)
                    streams[number, epoch] = self._stream(number, epoch, position)
                encoded.append(next(streams[number, epoch]))
            yield self.data.batch(self.source.decode, encoded, positions)

    def _stream(self, number: int, epoch: int, position: int) -> Iterator[Any]:
        """Yield the encoded samples of an epoch that a stream gives from `position`, which belongs to it."""
        begin = epoch * len(self.source)
        counts = self._counts(begin, begin + len(self.source))
        stop = int(counts[: number + 1].sum())
        start = stop - int(counts[number])
        done = int(self._counts(begin, position)[number])
        block = max(1, self.shuffle_bytes // self.source.sample_bytes)
        first = start + done // block * block  # the samples before it have been seen
        for held in chunks(self._encoded(epoch, first, stop), block):
            order = np.random.default_rng([self.data.order.seed, epoch, first]).permutation(len(held))
            for index in order[max(0, start + done - first) :]:
                yield held[index]
            first += block

    def _counts(self, begin: int, end: int) -> IndexArray:
        """Return how many of the positions from `begin` to `end` - 1 each stream gives, (groups * workers,)."""
        steps = np.arange(begin // self.batch_size, -(-end // self.batch_size))
        offsets = [np.clip(bound - steps * self.batch_size, 0, self.batch_size) for bound in (begin, end)]
        counts = np.zeros((self.groups, self.workers), np.int64)
        for group in range(self.groups):
            # Of the first n positions of a step, ceil((n - group) / groups) are of a group.
            before, until = (-((group - n) // self.groups) for n in offsets)
            counts[group] = np.bincount(steps % self.workers, until - before, self.workers)
        return counts.ravel()

    def _encoded(self, epoch: int, start: int, stop: int) -> Iterator[Any]:
        """Read the samples `start` to `stop` - 1 of the epoch's shards, which are in random order."""
        shards = np.random.default_rng([self.data.order.seed, epoch]).permutation(len(self.source.sizes))
        ends = self.source.sizes[shards].cumsum()
        begins = ends - self.source.sizes[shards]
        for place in np.flatnonzero(np.minimum(ends, stop) > np.maximum(begins, start)):
            offset = int(begins[place])
            bounds = max(start - offset, 0), min(stop, int(ends[place])) - offset
            yield from self.source.read(int(shards[place]), *bounds)


class _Dataset(torch.utils.data.IterableDataset[TrainingBatch | UserError]):
    """The batches of a worker; a mistake of the user as an item: torch would add its traceback to the message."""

    def __init__(self, batches: StreamedBatches, steps: range) -> None:
        self.batches, self.steps = batches, steps

    def __iter__(self) -> Iterator[TrainingBatch | UserError]:
        info = torch.utils.data.get_worker_info()
        steps = self.steps if info is None else self.steps[info.id :: info.num_workers]
        try:
            with panics_as_errors():
                yield from self.batches.batches(steps)
        except UserError as error:
            yield error


def stream_loader(
    batches: StreamedBatches, steps: range, processes: int, device: torch.device
) -> Iterator[TrainingBatch]:
    """Iterate over the parts of `steps` in order, prefetched by at most so many processes (0: in this process).

    Each has the same number of streams, so that they are fewer if the number does not divide `batches.workers`.
    """
    used = max((n for n in range(1, processes + 1) if batches.workers % n == 0), default=0)
    return load(_Dataset(batches, steps), used, device)
