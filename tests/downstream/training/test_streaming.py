"""Streams of uneven tars: each sample once per epoch on any number of processes, the same order after a kill."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.core.batch import IMAGE_MISSING, Sample, SampleError
from benchmark.core.errors import UserError
from downstream.training.streaming import StreamedBatches, stream_loader
from downstream.training.training_data import SampleOrder, SampleStream, TrainingData

SIZES = (7, 1, 0, 29, 13, 50, 3)  # of uneven tars
TOTAL = sum(SIZES)


class Number(int):
    """An encoded sample."""

    tar = "x.tar"


class Numbers:
    """Samples that are numbers; `reads` lists (shard, first sample) of each read."""

    caption_weights = ()
    sample_bytes = 2**19

    def __init__(self, sizes: tuple[int, ...] = SIZES, unreadable: frozenset[int] = frozenset()) -> None:
        self.sizes = np.array(sizes)
        self.unreadable = unreadable
        self.epochs = (range(sum(sizes)),)
        self.reads: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def read(self, shard: int, start: int, stop: int) -> Iterator[int]:
        self.reads.append((shard, start))
        assert 0 <= start < stop <= self.sizes[shard]
        first = int(self.sizes[:shard].sum())
        yield from map(Number, range(first + start, first + stop))

    def decode(self, encoded: int) -> Sample:
        if encoded in self.unreadable:
            raise SampleError(IMAGE_MISSING)
        return Sample("", str(encoded), None)  # type: ignore[arg-type]

    def check_lost(self, lost: object, seen: int, tar: str) -> None:
        pass


def collate(samples: list[Any]) -> dict[str, torch.Tensor]:
    return {"number": torch.tensor([int(sample.text) for sample in samples])}


def batches(
    source: SampleStream[Sample], *, epochs: float = 3, seed: int = 0, **settings: Any
) -> StreamedBatches:
    data = TrainingData(source, SampleOrder(source.epochs, seed), collate)
    given = {"batch_size": 10, "workers": 2, "shuffle_bytes": 2**21, **settings}
    return StreamedBatches(data, round(epochs * len(source)), **given)


def steps(streamed: StreamedBatches) -> range:
    return range(-(-streamed.budget // streamed.batch_size))


def drawn(streamed: StreamedBatches, start: int = 0) -> list[list[int]]:
    """The numbers of this process's part of each step."""
    parts = streamed.batches(steps(streamed)[start:])
    return [part.inputs["number"].tolist() if part.inputs else [] for part in parts]


def over_ranks(ranks: int, **settings: Any) -> list[list[int]]:
    """The numbers of each step, of all processes, in the order of positions."""
    parts = [drawn(batches(Numbers(), rank=rank, ranks=ranks, **settings)) for rank in range(ranks)]
    whole = []
    for of_step in zip(*parts, strict=True):
        count = sum(map(len, of_step))
        whole.append([of_step[offset % ranks][offset // ranks] for offset in range(count)])
    return whole


@pytest.mark.parametrize("workers", [1, 3])
def test_every_sample_is_seen_once_per_epoch_in_the_same_order(workers: int) -> None:
    whole = over_ranks(1, workers=workers)
    for ranks in (2, 3, 4):
        of_ranks = over_ranks(ranks, workers=workers)
        assert (of_ranks == whole) == (ranks != 3)
        numbers = list(chain(*of_ranks))
        for epoch in range(3):
            assert sorted(numbers[epoch * TOTAL : (epoch + 1) * TOTAL]) == list(range(TOTAL))


def test_the_order_follows_from_seed_and_epoch() -> None:
    whole = list(chain(*over_ranks(1)))
    first, second = whole[:TOTAL], whole[TOTAL : 2 * TOTAL]
    assert first != second
    assert first != sorted(first)
    assert over_ranks(1, seed=1) != over_ranks(1) == over_ranks(1)


def test_a_resumed_training_goes_on_with_the_same_samples() -> None:
    whole = drawn(batches(Numbers()))
    for start in (1, 5, 10, 11, 23, 30):
        assert drawn(batches(Numbers()), start) == whole[start:]


def test_a_resumed_training_begins_at_its_shard() -> None:
    source, whole = Numbers((40,) * 8), Numbers((40,) * 8)
    streamed = batches(source, epochs=1, batch_size=8, workers=1)
    drawn(streamed, start=39)
    drawn(batches(whole, epochs=1, batch_size=8, workers=1))
    assert all(start == 36 for _, start in source.reads)  # the last block of four of each of eight streams
    assert all(start == 0 for _, start in whole.reads)


def test_each_process_reads_its_part_of_the_shards() -> None:
    shards = []
    for rank in range(4):
        source = Numbers((10,) * 80)
        drawn(batches(source, epochs=1, rank=rank, ranks=4, batch_size=8, workers=1))
        shards.append({shard for shard, _ in source.reads})
    assert [len(of_rank) for of_rank in shards] == [20] * 4
    assert len(set[int]().union(*shards)) == 80


def test_samples_are_shuffled_beyond_their_neighbours() -> None:
    first = drawn(batches(Numbers((400,)), epochs=1, shuffle_bytes=2**25, batch_size=50, workers=1))
    assert all(max(step) - min(step) > 100 for step in first)
    assert sorted(chain(*first)) == list(range(400))


def test_shuffle_buffers_hold_the_given_bytes() -> None:
    source = Numbers((400,))
    streamed = batches(source, epochs=1, shuffle_bytes=4 * source.sample_bytes, batch_size=8, workers=1)
    # The 50 samples of each of 8 streams in blocks of four.
    by_group = np.array(drawn(streamed)).T
    for numbers in by_group.tolist():
        assert all(max(block) - min(block) < 4 for block in np.split(np.array(numbers), range(4, 50, 4)))


def test_subsets_smaller_than_a_batch_repeat() -> None:
    numbers = chain(*drawn(batches(Numbers((3,)), epochs=10, batch_size=7)))
    assert Counter(numbers) == {0: 10, 1: 10, 2: 10}


def test_unreadable_samples_are_counted_by_reason() -> None:
    streamed = batches(Numbers(unreadable=frozenset({3, 90})), epochs=1)
    parts = list(streamed.batches(steps(streamed)))
    assert sum((Counter(part.skipped) for part in parts), Counter()) == {IMAGE_MISSING: 2}
    assert [part.tar for part in parts if part.skipped] == ["x.tar"] * 2
    assert sum(part.size for part in parts) == TOTAL - 2


def test_worker_processes_keep_the_order() -> None:
    streamed = batches(Numbers(), epochs=1, workers=6)
    for workers in (0, 2):
        loaded = stream_loader(streamed, steps(streamed), workers, torch.device("cpu"))
        assert [batch.inputs["number"].tolist() for batch in loaded] == drawn(streamed)


def test_a_worker_raises_what_users_can_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Iterator[int]:
        raise UserError("no such tar")

    monkeypatch.setattr(Numbers, "read", fail)
    streamed = batches(Numbers())
    with pytest.raises(UserError, match="no such tar"):
        next(stream_loader(streamed, steps(streamed), 0, torch.device("cpu")))
