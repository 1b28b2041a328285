"""The order of the samples, the cut into batches, and the count of what cannot be read."""

import numpy as np
import pytest
import torch

from benchmark.core.batch import model_text
from downstream.training.batch_loader import loader
from downstream.training.training_data import SampleOrder, StepBatches, TrainingData
from tests.downstream.tiny_models import CAPTIONS, MemorySubset

CPU = torch.device("cpu")


def lengths(samples: list) -> dict[str, torch.Tensor]:
    return {"captions": torch.tensor([CAPTIONS.index(sample.text) for sample in samples])}


def batches(subset: MemorySubset, budget: int, batch_size: int, workers: int = 0, **ranks: int) -> list:
    data = TrainingData(subset, SampleOrder.over(len(subset), seed=3), lengths)
    steps = StepBatches(data, budget, batch_size, **ranks)
    return list(loader(steps, range(-(-budget // batch_size)), workers, CPU))


def test_positions_are_permutations_one_after_another() -> None:
    order = SampleOrder.over(5, seed=7)
    epochs = order.indices(0, 15).reshape(3, 5)
    assert [sorted(epoch) for epoch in epochs] == [[0, 1, 2, 3, 4]] * 3
    assert len({tuple(epoch) for epoch in epochs}) > 1
    expected = np.random.default_rng([7, 1]).permutation(5)  # epoch 1 follows from (seed, epoch) alone
    assert epochs[1].tolist() == expected.tolist()


def test_any_window_is_a_slice_of_the_whole_order() -> None:
    order = SampleOrder.over(7, seed=0)
    whole = order.indices(0, 40)
    for start in range(40):
        for stop in range(start, 40):
            assert order.indices(start, stop).tolist() == whole[start:stop].tolist()


def test_epochs_of_their_own_take_turns() -> None:
    order = SampleOrder((np.array([10, 11, 12]), np.array([20, 21])), seed=1)
    drawn = order.indices(0, 10)
    assert sorted(drawn[:3]) == [10, 11, 12]
    assert sorted(drawn[3:5]) == [20, 21]
    assert sorted(drawn[5:8]) == [10, 11, 12]
    assert sorted(drawn[8:10]) == [20, 21]
    assert order.indices(4, 9).tolist() == drawn[4:9].tolist()
    assert order.epochs_in(5) == 2
    assert order.epochs_in(9) == 3.5


@pytest.mark.parametrize(("budget", "batch_size"), [(21, 8), (16, 8), (3, 8), (1, 1)])
def test_budget_is_met_exactly(budget: int, batch_size: int) -> None:
    found = batches(MemorySubset(CAPTIONS), budget, batch_size)
    sizes = [batch.size for batch in found]
    assert sum(sizes) == budget
    assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
    drawn = torch.cat([batch.inputs["captions"] for batch in found])
    counts = torch.bincount(drawn, minlength=len(CAPTIONS))
    assert counts.max() - counts.min() <= 1


def test_unreadable_samples_are_counted_at_every_draw() -> None:
    subset = MemorySubset(
        CAPTIONS, broken={1: "image_unreadable", 4: "image_too_large", 5: "image_unreadable"}
    )
    found = batches(subset, budget=24, batch_size=5)
    assert sum(batch.size for batch in found) == 24 - 9
    assert sum(batch.skipped.get("image_unreadable", 0) for batch in found) == 6
    assert sum(batch.skipped.get("image_too_large", 0) for batch in found) == 3
    for batch in found:
        assert len(batch.inputs["captions"]) == batch.size


def test_a_batch_without_a_readable_sample_is_empty() -> None:
    found = batches(MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing")), budget=8, batch_size=4)
    assert [(batch.inputs, batch.size, batch.skipped) for batch in found] == [
        ({}, 0, {"image_missing": 4})
    ] * 2


def test_ranks_share_a_batch_without_overlap() -> None:
    subset = MemorySubset(CAPTIONS)
    whole = batches(subset, 21, 5)
    parts = [batches(subset, 21, 5, rank=rank, ranks=2) for rank in range(2)]
    for batch, *shares in zip(whole, *parts, strict=True):
        drawn = batch.inputs["captions"].tolist()
        assert [share.inputs["captions"].tolist() if share.inputs else [] for share in shares] == [
            drawn[::2],
            drawn[1::2],
        ]


def test_captions_that_are_missing_stay_missing_at_their_place() -> None:
    seen: list[tuple[str, tuple[str | None, ...]]] = []

    def collate(samples: list) -> dict[str, torch.Tensor]:
        seen.extend((sample.text, sample.others) for sample in samples)
        return {}

    others = (None, " a  square ", None, "red")
    for draws in (False, True):
        subset = MemorySubset(CAPTIONS[:1], others=others)
        data = TrainingData(subset, SampleOrder.over(1, seed=3), collate, draws=draws)
        StepBatches(data, 40, 40)[0]
    of_all, drawn = seen[:40], seen[40:]
    assert set(of_all) == {(CAPTIONS[0], (None, model_text(" a  square "), None, "red"))}
    assert set(drawn) == {(text, ()) for text in (CAPTIONS[0], model_text(" a  square "), "red")}
