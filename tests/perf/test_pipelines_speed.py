"""SBA and VBA in batches against the paper's loop of one caption at a time (section 4), on the scale models."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

from benchmark.config import demo_model
from benchmark.demo.training.data import HELD_OUT, captions
from filters.icc.autoencoder import Beams
from filters.icc.sba import FrozenParts, SemanticBottleneck
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck

CPU = torch.device("cpu")
COUNT, ALONE = 128, 16  # captions of our measurement and of the loop's

pytestmark = pytest.mark.perf


def rate(reconstruct: Callable[[Sequence[str]], list[Beams]], texts: Sequence[str], step: int) -> float:
    reconstruct(texts[:step])
    started = time.perf_counter()
    for start in range(0, len(texts), step):
        reconstruct(texts[start : start + step])
    return len(texts) / (time.perf_counter() - started)


def compare(name: str, made: SemanticBottleneck | VisualBottleneck) -> float:
    texts = captions("scorer", COUNT, 0, HELD_OUT)
    made.setup(CPU)
    alone = rate(made.reconstruct, texts[:ALONE], 1)
    ours = rate(made.reconstruct, texts, COUNT)
    print(f"\n{name}: {alone:.1f} captions/s one at a time, {ours:.1f} in batches, {ours / alone:.1f} times")
    return ours / alone


def test_captions_reconstructed_by_sba_per_second():
    clip = {"model": f"local-dir:{demo_model('clip')}", "pretrained": None}
    bridge = Path(demo_model("icc")) / "sba" / "bridge"
    assert compare("SBA", SemanticBottleneck(FrozenParts(clip, demo_model("llama")), str(bridge))) > 3


def test_captions_reconstructed_by_vba_per_second():
    made = VisualBottleneck(TextToImage(demo_model("diffusion")), ImageCaptioner(demo_model("blip")))
    assert compare("VBA", made) > 2
