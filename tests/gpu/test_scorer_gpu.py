"""ICC's scorer on a GPU: attention over captions of all lengths, and no stop until the scores are copied."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.core.devices import resolve_device
from filters.icc.packed import PackedCaptions, attend_by_length, attend_to_all
from filters.icc.scorer import DistilledScorer
from tests.filters.checkpoints import roberta_scorer
from tests.pools import numbered_uids

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def test_attention_to_all_lengths_at_once_is_that_of_each_length() -> None:
    device, heads, width = resolve_device("cuda"), 4, 256
    lengths = np.sort(np.random.default_rng(0).integers(1, 90, 500))
    captions = PackedCaptions(np.zeros(lengths.sum(), np.int64), lengths)
    query, key, value = torch.randn(3, lengths.sum(), width, dtype=torch.bfloat16, device=device)
    bounds = torch.tensor([0, *lengths.cumsum()], dtype=torch.int32, device=device)
    first = bounds[:-1].long()
    for rows in (query, query[first].contiguous()):
        at_once = attend_to_all(rows, key, value, bounds, int(lengths.max()), heads)
        by_length = attend_by_length(rows, key, value, captions.groups(), heads)
        assert torch.allclose(at_once.float(), by_length.float(), atol=0.02)


def test_scores_of_a_gpu_are_those_of_a_cpu(tmp_path: Path) -> None:
    folder = str(roberta_scorer(tmp_path, num_attention_heads=2))
    rng = np.random.default_rng(0)
    texts = [
        " ".join(["red", "ball", "dog"][: length % 3 + 1] * length) for length in rng.integers(1, 9, 3000)
    ]
    batch = Batch(numbered_uids(len(texts)), texts)
    scores = {}
    for device, precision in (("cpu", "fp32"), ("cuda", "fp32"), ("cuda", "bf16")):
        scorer = DistilledScorer(folder, precision)
        scorer.setup(resolve_device(device))
        scores[device, precision] = scorer.score(batch)
    on_cpu = scores["cpu", "fp32"]
    assert np.abs(scores["cuda", "fp32"] - on_cpu).max() < 1e-3 * on_cpu.std()
    assert np.abs(scores["cuda", "bf16"] - on_cpu).max() < 0.1 * on_cpu.std()
