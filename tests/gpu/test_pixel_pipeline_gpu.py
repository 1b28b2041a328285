"""Pixels that are copied to a GPU while it embeds earlier ones have the embeddings of a plain loop."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from benchmark.core.pixel_workers import PixelWorkers
from benchmark.models.clip_models import load_clip
from tests.filters.checkpoints import open_clip_model

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
GPU = torch.device("cuda")


@dataclass(frozen=True)
class Noise:
    """An image of random pixels."""

    seed: int

    def load(self) -> Image.Image:
        """Return the image."""
        pixels = np.random.default_rng(self.seed).integers(256, size=(64, 64, 3), dtype=np.uint8)
        return Image.fromarray(pixels)


def test_embeddings_of_pixels_copied_ahead_are_those_of_images(tmp_path: Path) -> None:
    clip = load_clip(open_clip_model(tmp_path / "clip"), None, GPU)
    workers = PixelWorkers(clip.preprocess, 2, GPU)
    batches = [[Noise(256 * batch + row) for row in range(256)] for batch in range(8)]

    def embedded() -> Iterator[np.ndarray]:
        for made in workers.batches(batches):
            assert made.pixels.device.type == "cuda"
            assert made.pixels.dtype == torch.float32
            yield clip.embed_pixels(made.pixels)

    assert workers._dtype == np.uint8
    for batch, embeddings in zip(batches, embedded(), strict=True):
        assert np.array_equal(embeddings, clip.embed_images([noise.load() for noise in batch]))


def test_levels_become_the_same_bits_on_a_gpu(tmp_path: Path) -> None:
    preprocess = load_clip(open_clip_model(tmp_path / "clip"), None, GPU).preprocess
    noises = [Noise(seed) for seed in range(40)]
    made = list(PixelWorkers(preprocess, 2, GPU).batches([noises[:30], noises[30:]]))
    assert torch.equal(
        torch.cat([batch.pixels for batch in made]).cpu(),
        torch.stack([preprocess(noise.load()) for noise in noises]),
    )


def test_short_captions_have_the_vectors_of_77_tokens(tmp_path: Path) -> None:
    clip = load_clip(open_clip_model(tmp_path / "clip"), None, GPU)
    captions = ["a cat", "two dogs in a park at night", "word " * 100]
    with torch.inference_mode():
        whole = clip.model.encode_text(clip.tokenizer(captions).to(GPU)).float()
    torch.testing.assert_close(clip.project_texts(captions), whole, rtol=1e-3, atol=1e-3)
