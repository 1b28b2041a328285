"""Batches by tokens: every text once, short ones together, none above the budget but a single long text."""

import torch

from benchmark.models.token_batches import token_batches


def test_batches_are_sorted_and_bounded() -> None:
    lengths = [900, 3, 2000, 7, 3, *[60] * 40]
    batches = list(token_batches(lengths, torch.device("cpu")))
    assert batches == [[1, 4, 3, *range(5, 19)], [*range(19, 36)], [*range(36, 45)], [0], [2]]
    assert list(token_batches(lengths, torch.device("cuda"))) == [[1, 4, 3, *range(5, 45), 0], [2]]
    assert list(token_batches([], torch.device("cpu"))) == []
