"""Rows of a batch in groups of similar length; images as pixels."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoImageProcessor

from benchmark.models.checkpoints import load_pretrained
from downstream import batching
from downstream.batching import CPU_GROUP, StoredImages, groups_of_similar_length, pixel_batches, to_pixels
from downstream.evaluation.evaluation_sets import ImageFile, Item
from tests.demos import demo_model


def mask(lengths: list[int]) -> torch.Tensor:
    return torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]


def test_every_row_is_in_one_group_and_fits_into_it() -> None:
    lengths = [min(64, int(n)) for n in 3 + np.random.default_rng(0).gamma(1.5, 6, 100)]
    groups = groups_of_similar_length(mask(lengths))
    assert len(groups) == 100 // CPU_GROUP
    assert sorted(torch.cat([rows for rows, _ in groups]).tolist()) == list(range(100))
    for rows, longest in groups:
        assert max(lengths[row] for row in rows.tolist()) == longest
    padded = sum(len(rows) * longest for rows, longest in groups)
    assert sum(lengths) <= padded < 1.4 * sum(lengths) < 0.5 * mask(lengths).numel()


def test_a_small_batch_is_one_group() -> None:
    [(rows, longest)] = groups_of_similar_length(mask([5, 2, 9]))
    assert (sorted(rows.tolist()), longest) == ([0, 1, 2], 9)


def test_a_batch_on_a_gpu_is_one_group_without_a_look_at_its_lengths() -> None:
    assert groups_of_similar_length(mask([5, 2, 9]).to("meta")) == [(slice(None), 9)]


@pytest.mark.full  # each process imports transformers
def test_stored_images_have_the_pixels_of_decoded_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    items = [Item(number, ImageFile(tmp_path / f"{number}.png"), []) for number in range(21)]
    for number, item in enumerate(items):
        Image.fromarray(rng.integers(0, 255, (30, 20 + number, 3), dtype=np.uint8)).save(item.image.path)
    processor = load_pretrained(AutoImageProcessor, str(demo_model("vit")))
    preprocess, cpu = partial(to_pixels, processor), torch.device("cpu")
    plain = list(pixel_batches([item.load() for item in items], preprocess, 9, cpu))
    assert [len(pixels) for pixels in plain] == [9, 9, 3]
    monkeypatch.setattr(batching, "MANY_IMAGES", 21)
    monkeypatch.setattr(batching, "own_cores", lambda: 2)
    monkeypatch.setattr(Item, "load", None)  # in this process
    stored = list(pixel_batches(StoredImages(items, "images"), preprocess, 9, cpu))
    assert all(torch.equal(one, other) for one, other in zip(stored, plain, strict=True))
