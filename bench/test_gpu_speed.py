"""Images through CLIP's models on a GPU: how long it computes, with a process per core that decodes and in series.

python -m pytest -m perf -s bench/test_gpu_speed.py
"""

import json
import os
from functools import partial
from pathlib import Path

import pytest
import torch

from bench.embedding import in_a_pipeline, in_series
from bench.measurement import compare, measure
from bench.photos import write_photos

pytestmark = [
    pytest.mark.perf,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
CORES = len(os.sched_getaffinity(0))
IMAGES = 256 * CORES


@pytest.mark.parametrize("model", ["ViT-B-32", "ViT-L-14"])
def test_images_embedded_on_a_gpu(model: str, tmp_path: Path) -> None:
    (tar,) = write_photos(tmp_path, 1, IMAGES)
    busy = {name: tmp_path / name for name in ("pipeline", "series")}
    row = compare(
        f"embed {IMAGES:,} images by {model} in bf16, pipeline of {CORES}",
        partial(measure, in_a_pipeline, tar, model, "cuda", str(busy["pipeline"]), CORES),
        "in series",
        partial(measure, in_series, tar, model, "cuda", str(busy["series"])),
    )
    shares = {name: json.loads(path.read_text()) for name, path in busy.items()}
    for name, usage in (("pipeline", row.ours), ("series", row.of_reference)):
        rate = IMAGES / usage.seconds
        print(f"{model}, {name}: {rate:,.0f} images/s, the GPU busy {shares[name]:.0%} of the last turn")
    assert row.ratio < 1
    if CORES >= 16:
        assert shares["pipeline"] >= 0.9
