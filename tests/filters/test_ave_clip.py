from pathlib import Path

import numpy as np
import pytest
import torch

from benchmark.core.batch import Batch
from benchmark.models.clip_models import load_clip
from filters.ave_clip import AveClip
from filters.icc.autoencoder import caption_seed
from filters.icc.vba import TextToImage
from tests.extras import needs_extra
from tests.filters.generators import diffusion_model
from tests.pools import numbered_uids

pytestmark = needs_extra("diffusion")

CPU = torch.device("cpu")


@pytest.mark.slow
def test_the_mean_cosine_with_images_drawn_one_by_one(clip: str, tmp_path: Path) -> None:
    diffusion = str(diffusion_model(tmp_path))
    made = AveClip(diffusion, clip, pretrained=None, images=3, steps=2)
    made.setup(CPU)
    captions = ["red ball", "blue", "red ball"]
    found = made.score(Batch(numbered_uids(3), captions))
    painter, loaded = TextToImage(diffusion, steps=2), load_clip(clip, None, CPU)
    painter.setup(CPU)
    expected = []
    for caption in captions[:2]:
        images = [painter.generate([caption], [caption_seed(caption, n)])[0] for n in range(3)]
        cosines = [loaded.embed_images([image])[0] @ loaded.embed_texts([caption])[0] for image in images]
        expected.append(np.mean(cosines))
    # Batched convolutions may round a pixel to its neighbour.
    assert found[:2] == pytest.approx(expected, abs=1e-3)
    assert found[0] == pytest.approx(found[2], abs=1e-3)
    assert abs(found[0] - found[1]) > 1e-3


def test_seeds_belong_to_caption_and_number() -> None:
    seeds = {caption_seed(caption, number) for caption in ("a", "b", "", "\ud800") for number in range(5)}
    assert len(seeds) == 20
    assert all(0 <= seed < 2**48 for seed in seeds)
    assert (caption_seed("a cat"), caption_seed("a cat", 1)) == (26586163503327, 248638375084836)
