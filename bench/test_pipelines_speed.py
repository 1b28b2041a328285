"""SBA and VBA in batches against the paper's loop of one caption at a time (section 4), on the scale models."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import torch

from bench.measurement import compare, measure
from filters.icc.sba import FrozenParts, SemanticBottleneck
from filters.icc.vba import ImageCaptioner, TextToImage, VisualBottleneck
from pairsift.demo.settings import demo_model
from tools.scale_models.data import HELD_OUT, captions

pytestmark = pytest.mark.perf
COUNTS = {"SBA": 64, "VBA": 16}
IMPORTS = (
    "diffusers.pipelines.auto_pipeline",
    "open_clip",
    "transformers.models.blip.modeling_blip",
    "transformers.models.llama.modeling_llama",
    "wandb",
)


def made(name: str) -> SemanticBottleneck | VisualBottleneck:
    if name == "VBA":
        return VisualBottleneck(TextToImage(demo_model("diffusion")), ImageCaptioner(demo_model("blip")))
    clip = {"model": f"local-dir:{demo_model('clip')}", "pretrained": None}
    bridge = Path(demo_model("icc")) / "sba" / "bridge"
    return SemanticBottleneck(FrozenParts(clip, demo_model("llama")), str(bridge))


def reconstruct(name: str, step: int) -> Iterator[None]:
    """Reconstruct captions, `step` at a time."""
    texts, bottleneck = captions("scorer", COUNTS[name], 0, HELD_OUT), made(name)
    bottleneck.setup(torch.device("cpu"))
    bottleneck.reconstruct(texts[:1])
    yield
    for start in range(0, len(texts), step):
        bottleneck.reconstruct(texts[start : start + step])


@pytest.mark.parametrize(("name", "goal"), [("SBA", 0.33), ("VBA", 0.5)])
def test_captions_reconstructed_at_once(name: str, goal: float) -> None:
    row = compare(
        f"reconstruct {COUNTS[name]} captions, {name}",
        partial(measure, reconstruct, name, COUNTS[name]),
        "one at a time",
        partial(measure, reconstruct, name, 1),
        goal,
    )
    assert row.ratio < goal
