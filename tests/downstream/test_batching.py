"""Rows of a batch in groups of similar length."""

import numpy as np
import torch

from downstream.batching import CPU_GROUP, groups_of_similar_length


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
