"""The order of the samples, the cut into batches, drawn captions and images, and counts of unreadable samples."""

from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import Any
from zlib import crc32

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.batch import Sample, model_text
from downstream.models.networks import ImageAugmentation, ds_clip_changes, open_clip_changes
from downstream.training.batch_loader import loader
from downstream.training.training_data import (
    SampleOrder,
    StepBatches,
    TrainingBatch,
    TrainingData,
    draw_caption,
)
from tests.downstream.tiny_models import CAPTIONS, ManyCaptions, MemorySubset, draw

CPU = torch.device("cpu")
View = tuple[str, int]  # caption, and hash of the image
SAMPLE = Sample("0" * 32, "own", draw(CAPTIONS[0]), ("second", "third"))


def collate(samples: list[Sample]) -> dict[str, Any]:
    return {"views": [(sample.text, crc32(sample.image.tobytes())) for sample in samples]}


def batches(
    subset: MemorySubset,
    budget: int,
    batch_size: int,
    workers: int = 0,
    start: int = 0,
    augment: ImageAugmentation | None = None,
    **ranks: int,
) -> list[TrainingBatch]:
    data = TrainingData(subset, SampleOrder.over(len(subset), seed=3), collate, augment)
    steps = range(start, -(-budget // batch_size))
    return list(loader(StepBatches(data, budget, batch_size, **ranks), steps, workers, CPU))


def views(found: list[TrainingBatch]) -> list[list[View]]:
    return [[(text, image) for text, image in batch.inputs.get("views", [])] for batch in found]


def test_positions_are_permutations_one_after_another() -> None:
    order = SampleOrder.over(5, seed=7)
    epochs = order.indices(0, 15).reshape(3, 5)
    assert [sorted(epoch) for epoch in epochs] == [[0, 1, 2, 3, 4]] * 3
    assert len({tuple(epoch) for epoch in epochs}) > 1
    expected = np.random.default_rng([7, 1]).permutation(5)  # epoch 1 follows only from (seed, epoch)
    assert epochs[1].tolist() == expected.tolist()


def test_several_epochs_take_turns_and_any_window_is_a_slice() -> None:
    order = SampleOrder((np.array([10, 11, 12]), np.array([20, 21])), seed=1)
    whole = order.indices(0, 20)
    for start in range(0, 20, 5):
        assert sorted(whole[start : start + 3]) == [10, 11, 12]
        assert sorted(whole[start + 3 : start + 5]) == [20, 21]
    for start in range(20):
        for stop in range(start, 20):
            assert order.indices(start, stop).tolist() == whole[start:stop].tolist()
    assert [order.epochs_in(positions) for positions in (3, 5, 9)] == [1, 2, 3.5]


@pytest.mark.parametrize(("budget", "batch_size"), [(21, 8), (16, 8), (3, 8), (1, 1)])
def test_budget_is_met_exactly(budget: int, batch_size: int) -> None:
    found = batches(MemorySubset(CAPTIONS), budget, batch_size)
    sizes = [batch.size for batch in found]
    assert sum(sizes) == budget
    assert sizes[:-1] == [batch_size] * (len(sizes) - 1)
    counts = Counter(text for text, _ in chain(*views(found)))
    assert max(counts.values()) - min(counts[caption] for caption in CAPTIONS) <= 1


def test_unreadable_samples_are_counted_at_every_draw() -> None:
    broken = {1: "image_unreadable", 4: "image_too_large", 5: "image_unreadable"}
    found = batches(MemorySubset(CAPTIONS, broken), budget=24, batch_size=5)
    assert [batch.size for batch in found] == [len(of_step) for of_step in views(found)]
    lost = sum((Counter(batch.skipped) for batch in found), Counter())
    assert lost == {"image_unreadable": 6, "image_too_large": 3}
    none = batches(MemorySubset(CAPTIONS, dict.fromkeys(range(8), "image_missing")), budget=8, batch_size=4)
    assert [(batch.inputs, batch.size, batch.skipped) for batch in none] == [
        ({}, 0, {"image_missing": 4})
    ] * 2


@pytest.mark.parametrize("augment", [None, ImageAugmentation(open_clip_changes(24))])
def test_workers_ranks_and_resumes_draw_the_same(augment: ImageAugmentation | None) -> None:
    """Captions and images follow from the seed and the position: the same for any rank, worker, batch or resume."""
    subset = ManyCaptions(CAPTIONS, {1: "image_unreadable", 4: "image_unreadable"})
    whole = views(batches(subset, 48, 6, augment=augment))
    assert views(batches(subset, 48, 6, workers=2, augment=augment)) == whole
    assert views(batches(subset, 48, 6, start=3, augment=augment)) == whole[3:]
    assert list(chain(*views(batches(subset, 48, 8, augment=augment)))) == list(chain(*whole))
    by_rank = [views(batches(subset, 48, 6, rank=rank, ranks=2, augment=augment)) for rank in range(2)]
    for of_step, *parts in zip(whole, *by_rank, strict=True):
        assert Counter(of_step) == Counter(chain(*parts))


def test_ranks_take_turns_in_a_batch() -> None:
    whole, *parts = (
        views(batches(MemorySubset(CAPTIONS), 21, 5, **ranks))
        for ranks in ({}, {"rank": 0, "ranks": 2}, {"rank": 1, "ranks": 2})
    )
    assert [list(of_ranks) for of_ranks in zip(*parts, strict=True)] == [[v[::2], v[1::2]] for v in whole]


def test_every_caption_is_as_likely_as_any_other() -> None:
    drawn = Counter(draw_caption(SAMPLE, 0, position).text for position in range(3000))
    assert drawn.keys() == {"own", "second", "third"}
    chi_squared = sum((count - 1000) ** 2 / 1000 for count in drawn.values())
    assert chi_squared < 13.8  # the 99.9th percentile at two degrees of freedom
    by_seed = Counter(draw_caption(SAMPLE, seed, 7).text for seed in range(300))
    assert min(by_seed.values()) > 70


def test_a_draw_changes_only_the_caption() -> None:
    plain, drawn = replace(SAMPLE, others=(None,)), draw_caption(SAMPLE, 0, 0)
    assert draw_caption(plain, 0, 0) is plain
    assert (drawn.uid, drawn.image, drawn.others) == (SAMPLE.uid, SAMPLE.image, SAMPLE.others)


def test_only_samples_that_have_others_draw_and_the_order_stays() -> None:
    plain, many = (views(batches(kind(CAPTIONS), 160, 160))[0] for kind in (MemorySubset, ManyCaptions))
    drawn: Counter[str] = Counter()
    for (own, image), (text, same) in zip(plain, many, strict=True):
        assert image == same
        if CAPTIONS.index(own) % 2:
            assert text == own
        else:
            drawn[text if text in ("a square", "something red") else "own"] += 1
    assert drawn.keys() == {"own", "a square", "something red"}
    assert min(drawn.values()) > 10


def test_captions_that_are_missing_stay_missing_at_their_place() -> None:
    seen: list[tuple[str, tuple[str | None, ...]]] = []

    def keep(samples: list[Sample]) -> dict[str, torch.Tensor]:
        seen.extend((sample.text, sample.others) for sample in samples)
        return {}

    subset = MemorySubset(CAPTIONS[:1], others=(None, " a  square ", None, "red"))
    for draws in (False, True):
        StepBatches(TrainingData(subset, SampleOrder.over(1, seed=3), keep, draws=draws), 40, 40)[0]
    square = model_text(" a  square ")
    assert set(seen[:40]) == {(CAPTIONS[0], (None, square, None, "red"))}
    assert set(seen[40:]) == {(text, ()) for text in (CAPTIONS[0], square, "red")}


def test_every_epoch_sees_another_view() -> None:
    found = views(batches(MemorySubset(CAPTIONS), 48, 8, augment=ImageAugmentation(ds_clip_changes(24))))
    assert len(set(chain(*found))) == 48


def test_a_view_has_the_models_size_and_spares_the_global_rng() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (40, 90, 3), dtype=np.uint8)
    sample, state = replace(SAMPLE, image=Image.fromarray(noise)), torch.random.get_rng_state()
    one, again, other = (
        ImageAugmentation(ds_clip_changes(24))(sample, np.random.default_rng(seed)).image
        for seed in (0, 0, 1)
    )
    assert torch.equal(torch.random.get_rng_state(), state)
    assert {one.size, other.size} == {(24, 24)}
    assert one.tobytes() == again.tobytes() != other.tobytes()


def test_an_image_without_structure_gains_none() -> None:
    """Crop, flip, colour and blur of one colour give one colour; only RandAugment's fill adds black."""
    grey = replace(SAMPLE, image=Image.new("RGB", (30, 30), (120, 120, 120)))
    for seed in range(20):
        view = ImageAugmentation(ds_clip_changes(16))(grey, np.random.default_rng(seed)).image
        colours = {tuple(colour) for colour in np.asarray(view).reshape(-1, 3).tolist()} - {(0, 0, 0)}
        assert len(colours) <= 3
